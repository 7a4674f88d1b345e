"""Detect each file's format by its content and parse it."""

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath

from bucketcast.migrate import environment, export, notification
from bucketcast.migrate.parsed import Parsed

_ASSIGNED = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=")
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
        reader = _reader(text)
        if reader is not None:
            reader(text, name, parsed)
        elif text.lstrip().startswith("<"):
            notification.read(text, name, parsed, bucket=bucket or _folder(name))
        else:
            parsed.error(
                name,
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
