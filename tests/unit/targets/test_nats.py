"""The parts of the NATS target that need no server."""

import pytest

from bucketcast.errors import Rejected, Retryable
from bucketcast.targets.nats.batch import DEFAULT_MAX_PAYLOAD, too_large
from bucketcast.targets.nats.protobuf import decode, encode
from bucketcast.targets.nats.settings import parse_credentials

SEED = f"SU{'A' * 56}"


def test_message_is_encoded_as_protobuf() -> None:
    """Use the examples of protobuf's documentation."""
    assert encode({1: 150}) == bytes.fromhex("089601")
    assert encode({2: b"testing"}) == bytes.fromhex("120774657374696e67")


def test_long_fields_and_high_numbers_are_decoded() -> None:
    fields = {1: b"x" * 300, 4: b"", 100: b"key"}
    assert decode(encode(fields) + encode({7: 2**40})) == fields


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x80", b"\x0d\x00", b"+OK"])
def test_invalid_message_is_an_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"it ends in the middle|a field of type"):
        decode(message)


def test_message_too_large_is_retried_up_to_the_default_limit() -> None:
    assert type(too_large(DEFAULT_MAX_PAYLOAD, 1_000)) is Retryable
    assert type(too_large(DEFAULT_MAX_PAYLOAD + 1, DEFAULT_MAX_PAYLOAD)) is Rejected


@pytest.mark.parametrize("content", ["", SEED, "-----BEGIN NATS USER JWT-----\nabc\n"])
def test_incomplete_creds_file_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="a user's JWT and the seed"):
        parse_credentials(content)
