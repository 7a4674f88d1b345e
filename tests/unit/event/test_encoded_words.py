"""Metadata beyond ASCII, as S3 gives it and as clients sent it."""

import pytest

from bucketcast.event.encoded_words import as_sent, decode
from bucketcast.rules.conditions import Condition
from tests.unit.samples import event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("=?UTF-8?B?w4Q=?=", "Ä"),
        ("=?UTF-8?Q?a=C3=A4?= =?UTF-8?Q?b?=", "aäb"),
        ("=?no-such-set?B?w4Q=?=", "=?no-such-set?B?w4Q=?="),
        ("a=?b", "a=?b"),
    ],
)
def test_encoded_words_are_decoded(text: str, expected: str) -> None:
    assert decode(text) == expected


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("plain", "plain"),
        # The example of S3's guide, of a client that sent the bytes of UTF-8.
        ("=?UTF-8?B?w4PChE3Dg8KEWsODwpXDg8KRIFMz?=", "ÄMÄZÕÑ S3"),
        # As boto3 has to send it; MinIO keeps it so too.
        ("=?UTF-8?B?w6k=?=", "=?UTF-8?B?w6k=?="),
        ("=?UTF-8?B?8J+YgA==?=", "=?UTF-8?B?8J+YgA==?="),
        ("=?UTF-8?B?YQ==?=", "=?UTF-8?B?YQ==?="),
        ("a=?b", "a=?b"),
    ],
)
def test_metadata_is_written_as_its_client_sent_it(given: str, sent: str) -> None:
    assert as_sent(given) == sent


@pytest.mark.parametrize("value", ["é", "=?UTF-8?B?w6k=?="])
def test_a_rule_matches_encoded_words_decoded_or_as_they_are(value: str) -> None:
    condition = Condition(on="metadata:x-amz-meta-city", values=(value,))
    encoded = event(metadata={"x-amz-meta-city": "=?UTF-8?B?w6k=?="})
    assert condition.holds(encoded)
    assert not condition.holds(event(metadata={"x-amz-meta-city": "e"}))
