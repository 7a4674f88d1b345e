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


STREAMS = {"streaming": "on", "streaming_cluster_id": "test-cluster"}


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        ({}, []),
        ({"subject": "secret:subject"}, []),
        ({"subject": "a b"}, ["subject"]),
        ({"subject": "a.*"}, ["subject"]),
        ({"subject": "a.>"}, ["subject"]),
        ({"subject": "a..b"}, ["subject"]),
        ({"username": "alice"}, ["password"]),
        ({"password": "x"}, ["username"]),
        ({"username": "alice", "password": "x", "token": "t"}, ["token"]),
        ({"token": "secret:t", "nkey_seed": "secret:n"}, ["nkey_seed"]),
        ({"user_credentials": "-----BEGIN NATS USER JWT-----\nx\n"}, ["user_credentials"]),
        ({"user_credentials": "secret:creds"}, []),
        ({"tls_skip_verify": "on"}, ["tls_skip_verify"]),
        ({"tls_skip_verify": "on", "tls_handshake_first": "on"}, []),
        ({"client_cert": "-----BEGIN CERTIFICATE-----"}, ["client_key"]),
        ({"streaming": "on"}, ["streaming_cluster_id"]),
        ({"streaming_enable": "on"}, ["streaming_cluster_id"]),
        ({**STREAMS, "streaming_cluster_id": "test cluster"}, ["streaming_cluster_id"]),
        (STREAMS, []),
        ({**STREAMS, "shape": "cloudevents-binary"}, ["shape"]),
        ({**STREAMS, "jetstream": "on"}, ["jetstream"]),
    ],
)
def test_check_names_the_invalid_option(texts: dict[str, str], keys: list[str]) -> None:
    settings = read(Target.Settings, {**VALID, **texts})
    assert [key for key, *_ in Target.check(settings)] == keys


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, []),
        (STREAMS, ["jetstream = on"]),
        ({**STREAMS, "streaming_async": "on", "streaming_max_pub_acks_in_flight": "9"}, ["June"]),
        ({**STREAMS, "streaming_max_pub_acks_in_flight": "9"}, ["June", "without streaming_async"]),
        (
            {"streaming_cluster_id": "x", "streaming_async": "on"},
            ["streaming_cluster_id, streaming_async"],
        ),
        ({"queue_dir": "/events", "streaming_cluster_id": "x"}, ["queue_dir", "without streaming"]),
    ],
)
def test_notes_explain_settings(texts: dict[str, str], expected: list[str]) -> None:
    notes = Target.notes(read(Target.Settings, {**VALID, **texts}))
    assert len(notes) == len(expected)
    assert all(part in note for part, note in zip(expected, notes, strict=True))


@pytest.mark.parametrize(
    ("address", "where"),
    [("h", "h:4222"), ("h:1", "h:1"), ("[::1]:7", "[::1]:7"), ("[::1]", "[::1]:4222")],
)
def test_where_has_the_default_port(address: str, where: str) -> None:
    target = Target(read(Target.Settings, {"address": address, "subject": "s"}))
    assert target.where == f"{where}, subject s"


def test_invalid_secret_is_reported_at_first_use() -> None:
    """References are not resolved before."""
    for name, secret in (("nkey_seed", "n0seed-s3cret"), ("user_credentials", "n0jwt-s3cret")):
        settings: Any = read(Target.Settings, VALID)
        target = Target(dataclasses.replace(settings, **{name: Secret(secret)}))
        error = target.send([event()])[0]
        assert isinstance(error, NotAuthorized)
        assert f"{name} must be a" in str(error)
        assert secret not in str(error)
