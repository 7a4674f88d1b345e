"""The NATS target's settings, and its protobuf messages."""

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, Throttled
from bucketcast.settings.options import read
from bucketcast.settings.types import Secret
from bucketcast.targets.nats import Target
from bucketcast.targets.nats.jetstream import JetStream
from bucketcast.targets.nats.protobuf import decode, encode
from bucketcast.targets.nats.settings import parse_credentials
from bucketcast.targets.nats.streaming import Streaming
from tests.unit.samples import event

SEED = f"SU{'A' * 56}"


def test_long_fields_and_high_numbers_are_decoded() -> None:
    fields = {1: b"x" * 300, 4: b"", 100: b"key"}
    assert decode(encode(fields) + encode({7: 2**40})) == fields


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x80", b"\x0d\x00", b"+OK"])
def test_invalid_message_is_an_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"it ends in the middle|a field of type"):
        decode(message)


@pytest.mark.parametrize("content", ["", SEED, "-----BEGIN NATS USER JWT-----\nabc\n"])
def test_incomplete_creds_file_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="a user's JWT and the seed"):
        parse_credentials(content)


VALID = {"address": "localhost", "subject": "a.b"}


def test_invalid_secret_is_reported_at_first_use() -> None:
    """References are not resolved before."""
    for name, secret in (("nkey_seed", "n0seed-s3cret"), ("user_credentials", "n0jwt-s3cret")):
        settings: Any = read(Target.Settings, VALID)
        target = Target(dataclasses.replace(settings, **{name: Secret(secret)}))
        error = target.send([event()])[0]
        assert isinstance(error, NotAuthorized)
        assert f"{name}: allowed is a" in str(error)
        assert secret not in str(error)


def connection(reply: bytes) -> Any:
    """Return a connection to a server that answers every request so."""
    answer = AsyncMock(return_value=SimpleNamespace(data=reply))
    inbox = Mock(return_value="_INBOX.1")
    return AsyncMock(request=Mock(), new_inbox=inbox, await_reply=answer)


@pytest.mark.parametrize(
    ("reply", "error", "reason"),
    [
        (b'{"error":{"err_code":10039,"description":"not enabled"}}', Retryable, "not enabled; tu"),
        (b'{"error":{"err_code":10008,"description":"not available"}}', Throttled, "not available"),
        (b"[]", Retryable, "is not JetStream"),
        (b'{"streams":[{"config":{"name":"\xff"}}]}', Retryable, "is not JetStream"),
    ],
)
def test_what_the_look_up_of_streams_meets_is_for_the_probe(
    reply: bytes, error: type[DeliveryError], reason: str
) -> None:
    publisher = JetStream(connection(reply), "s")
    asyncio.run(publisher.open())
    with pytest.raises(error, match=reason) as raised:
        asyncio.run(publisher.probe())
    assert type(raised.value) is error


@pytest.mark.parametrize("reply", [b"[]", b"\x2a\x01\xff"])
def test_a_reply_that_is_not_nats_streamings_is_a_lost_connection(reply: bytes) -> None:
    with pytest.raises(NotConnected):
        asyncio.run(Streaming(connection(reply), "s", "c", 1).open())
