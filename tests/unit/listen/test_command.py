"""`bucketcast listen`: its options and lines; the end-to-end tests listen for events."""

from typing import Any

import pytest

from bucketcast.listen.command import _format
from tests.unit.conftest import Run
from tests.unit.moto_aws import ENTRY, WEBHOOK, make_bucket


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("s3://uploads/a", "--prefix", "b"), "found both --prefix 'b' and s3://uploads/a"),
        (("s3://uploads", "--event", "bucket-created"), "did you mean 'bucket-creation'"),
        (("s3://uploads", "--event", "x"), "scanner, bucket-creation, bucket-removal and names"),
    ],
)
def test_invalid_arguments_are_reported(
    run: Run, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in run("listen", *arguments).said(2)


@pytest.mark.parametrize("event", ["BucketCreated", "s3:BucketRemoved:*", "bucket-creation"])
def test_a_rule_for_bucket_events_is_refused_with_the_listen_command(run: Run, event: str) -> None:
    refused = run("event", "add", "uploads", WEBHOOK, "--event", event).said(2)
    assert "`bucketcast listen --event bucket-creation,bucket-removal` shows them" in refused


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "note: not all events of images are reported: connect a bucket with `bucketcast"),
        (("--event", "bucket-creation,bucket-removal"), ""),
        (("s3://images",), "note: bucket images is not connected to this deployment; connect it"),
        (("s3://uploads",), ""),
    ],
)
def test_what_is_not_heard_is_noted_at_the_start(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: Any, expected: str
) -> None:
    async def interrupted(_: object) -> None: ...

    monkeypatch.setattr("bucketcast.listen.command._until_interrupted", interrupted)
    make_bucket("uploads", QueueConfigurations=[ENTRY])
    make_bucket("images")
    noted = run("listen", *arguments).said(0)
    assert noted.startswith(expected) if expected else not noted


def test_a_line_escapes_control_characters() -> None:
    record = {
        "eventTime": "2026-03-14T09:26:53.589Z",
        "eventName": "s3:ObjectCreated:Put",
        "s3": {"bucket": {"name": "uploads"}, "object": {"key": "a\x1b[2Jb\n", "size": 5}},
    }
    assert _format(record).split("  ") == [
        "2026-03-14T09:26:53.589Z",
        "s3:ObjectCreated:Put",
        *[""] * 4,
        "uploads/a\\x1b[2Jb\\n",
        "5",
    ]
    record["eventName"], record["s3"]["object"] = "s3:BucketRemoved:*", {"key": ""}  # type: ignore[index]
    assert _format(record).endswith("  uploads  -")
