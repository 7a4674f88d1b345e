"""Detect each file's format by its content and parse it."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.migrate import export
from bucketcast.migrate.parsed import Parsed
from bucketcast.notifications.api import conversion, document
from bucketcast.web.errors import S3Error

_EXPORT_LINE = re.compile(
    r"#\s*MINIO_\S+=|(?:#\s*)?[a-z][a-z0-9_]*(?::\S*)?\s+[a-z0-9_]+=|notify_[a-z]+(?::\S*)?$"
)


def read(files: Iterable[tuple[str, str]], *, bucket: str = "") -> Parsed:
    """Parse files, given as name and text; `bucket` is the bucket of a notification XML.

    Raises:
        ConfigErrors: every error found.
    """
    parsed = Parsed()
    for name, text in files:
        if text.lstrip().startswith("<"):
            _read_notification(text, name, parsed, bucket or _folder(name))
        elif any(_EXPORT_LINE.match(line.strip()) for line in text.splitlines()):
            export.read(text, name, parsed)
        else:
            parsed.error(
                name,
                "unknown format",
                "allowed are the output of `mc admin config export`, and notification XML; a "
                "deploy itself reads MINIO_NOTIFY_… variables",
            )
    parsed.raise_errors()
    return parsed


def _folder(name: str) -> str:
    """Return the bucket of `<bucket>/notification.xml`, as MinIO exports it."""
    path = PurePath(name)
    return path.parent.name if path.name == "notification.xml" else ""


def _read_notification(text: str, name: str, parsed: Parsed, bucket: str) -> None:
    """Parse `GET ?notification`, or a file of `mc admin cluster bucket export`."""
    if not bucket:
        parsed.error(name, "missing bucket", "give it with --bucket NAME, one bucket per run")
        return
    try:
        given = document.read(text.encode(), _is_target, region=None)
    except S3Error as error:
        parsed.error(name, error.message, "allowed is a bucket's configuration in MinIO")
        return
    for queue in given.queues:
        if queue.id:
            parsed.leave_out(f"the Id '{queue.id}' of {bucket}", "rules get an id of their own")
    without_ids = [replace(queue, id="") for queue in given.queues]
    parsed.rules += conversion.rules(bucket, without_ids, stored=())
    for entry in given.notifications:
        parsed.leave_out(f"{name}: {entry.topic}", "it is a topic, which MinIO does not have")


def _is_target(arn: str) -> bool:
    return TargetArn.parse(arn).kind in targets.kinds()
