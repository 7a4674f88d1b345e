"""Suggestions for a wrong word."""

import pytest

from bucketcast import targets
from bucketcast.errors import did_you_mean

KINDS = targets.kinds()


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("evnt", ["event", "test"], "event"),
        ("tow", ["one", "two"], "two"),
        ("webhok:primary", ["webhook:primary"], "webhook:primary"),
        ("webhook:primray", ["webhook:slow", "webhook:primary"], "webhook:primary"),
        ("arn:minio:sqs::adit:webhook", ["arn:minio:sqs::audit:webhook"], "audit"),
        ("s3:objectcreated:putt", ["s3:ObjectCreated:Put"], "s3:ObjectCreated:Put"),
        ("content-typ", ["content_type"], "content_type"),
        ("webhook:nosuch", ["webhook:slow", "webhook:primary"], ""),
        ("webhook:b", ["webhook:a"], ""),
        ("notify_rabbit", [f"notify_{kind}" for kind in KINDS], ""),
        ("sqs", KINDS, ""),
        ("sns", KINDS, ""),
        ("queue_size", ["queue_dir", "queue_limit"], ""),
    ],
)
def test_only_a_near_word_is_suggested(word: str, known: list[str], near: str) -> None:
    suggestion = did_you_mean(word, known)
    assert (near in suggestion) if near else (suggestion == "")
