"""`bucketcast listen`: what it may be asked; what it shows is seen in the tests of the system."""

import pytest

from bucketcast.listen.command import _shown
from tests.unit.conftest import Run

HOOK = "arn:minio:sqs::primary:webhook"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("s3://",), "invalid bucket name"),
        (("s3://uploads/../x",), "found '.' or '..' between slashes"),
        (("s3://uploads/a", "--prefix", "b"), "found both --prefix 'b' and s3://uploads/a"),
        (("s3://uploads", "--event", "puts"), "unknown event 'puts': did you mean 'put'"),
        (("s3://uploads", "--suffix", "a\\b"), "found a backslash"),
    ],
)
def test_problems_are_reported(run: Run, words: tuple[str, ...], expected: str) -> None:
    ran = run("listen", *words)
    assert ran.code == 2
    assert expected in ran.err


@pytest.mark.parametrize("word", ["BucketCreated", "s3:BucketRemoved:*", "bucket-creation"])
def test_a_rule_for_buckets_is_refused_with_the_way_to_listen(run: Run, word: str) -> None:
    ran = run("event", "add", "uploads", HOOK, "--event", word)
    assert ran.code == 2
    assert "`bucketcast listen --event bucket-creation,bucket-removal` shows them" in ran.err


def test_a_line_hides_nothing() -> None:
    record = {
        "eventTime": "2026-03-14T09:26:53.589Z",
        "eventName": "s3:ObjectCreated:Put",
        "s3": {"bucket": {"name": "uploads"}, "object": {"key": "a\x1b[2Jb\n", "size": 5}},
    }
    assert _shown(record).split("  ") == [
        "2026-03-14T09:26:53.589Z",
        "s3:ObjectCreated:Put",
        *[""] * 4,
        "uploads/a\\x1b[2Jb\\n",
        "5",
    ]
    record["eventName"], record["s3"]["object"] = "s3:BucketRemoved:*", {"key": ""}  # type: ignore[index]
    assert _shown(record).endswith("  uploads  -")
