"""Detect each file's format by its content and parse it."""

import re
from collections.abc import Iterable
from pathlib import PurePath

from bucketcast.migrate import export, notification
from bucketcast.migrate.parsed import Parsed

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
            notification.read(text, name, parsed, bucket=bucket or _folder(name))
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
