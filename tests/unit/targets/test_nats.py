"""What of the NATS target needs no server."""

import pytest

from bucketcast.errors import Rejected, Retryable
from bucketcast.targets.nats.batch import USUAL_PAYLOAD, too_large
from bucketcast.targets.nats.protobuf import packed, unpacked
from bucketcast.targets.nats.settings import credentials

SEED = f"SU{'A' * 56}"


def test_a_message_is_encoded_as_protobuf() -> None:
    """The examples of protobuf's own description of its encoding."""
    assert packed({1: 150}) == bytes.fromhex("089601")
    assert packed({2: b"testing"}) == bytes.fromhex("120774657374696e67")


def test_long_fields_and_high_numbers_come_back() -> None:
    fields = {1: b"x" * 300, 4: b"", 100: b"key"}
    assert unpacked(packed(fields) + packed({7: 2**40})) == fields


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x80", b"\x0d\x00", b"+OK"])
def test_what_is_no_message_is_an_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"it ends in the middle|a field of type"):
        unpacked(message)


def test_a_limit_below_the_usual_is_the_servers_fault() -> None:
    assert type(too_large(USUAL_PAYLOAD, 1_000, "x")) is Retryable
    assert type(too_large(USUAL_PAYLOAD + 1, USUAL_PAYLOAD, "x")) is Rejected


@pytest.mark.parametrize("text", ["", SEED, "-----BEGIN NATS USER JWT-----\nabc\n"])
def test_half_a_creds_file_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="a user's JWT and the seed"):
        credentials(text)
