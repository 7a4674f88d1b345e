"""Detect each file's format by its content and parse it."""

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import NamedTuple

from bucketcast.migrate import environment, export, notification
from bucketcast.migrate.parsed import Parsed

_ASSIGNED = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=")
_EXPORT_LINE = re.compile(
    r"#\s*MINIO_\S+=|(?:#\s*)?[a-z][a-z0-9_]*(?::\S*)?\s+[a-z0-9_]+=|notify_[a-z]+(?::\S*)?$"
)


class File(NamedTuple):
    """A file's name and text."""

    name: str
    text: str


def read(files: Iterable[File], *, bucket: str = "") -> Parsed:
    """Parse all files; `bucket` is the bucket of a notification XML.

    Raises:
        ConfigErrors: every error found.
    """
    parsed = Parsed()
    for file in files:
        reader = _reader(file.text)
        if reader is not None:
            reader(file.text, file.name, parsed)
        elif file.text.lstrip().startswith("<"):
            notification.read(file.text, file.name, parsed, bucket=bucket or _folder(file.name))
        else:
            parsed.error(
                file.name,
                "unknown format",
                "allowed are the output of `mc admin config export`, MINIO_… variables, "
                "notification XML",
            )
    parsed.raise_errors()
    return parsed


def _reader(text: str) -> Callable[[str, str, Parsed], None] | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if line[0] not in "#;"), "")
    if _ASSIGNED.match(first):
        return environment.read
    return export.read if any(map(_EXPORT_LINE.match, lines)) else None


def _folder(name: str) -> str:
    """Return the bucket of `<bucket>/notification.xml`, as MinIO exports it."""
    path = PurePath(name)
    return path.parent.name if path.name == "notification.xml" else ""
