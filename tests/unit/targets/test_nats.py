"""The NATS target's settings, and its protobuf messages."""

import dataclasses
from typing import Any

import pytest

from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import read
from bucketcast.settings.types import Secret
from bucketcast.targets.nats import Target
from bucketcast.targets.nats.protobuf import decode, encode
from bucketcast.targets.nats.settings import parse_credentials
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
        assert f"{name} must be a" in str(error)
        assert secret not in str(error)
