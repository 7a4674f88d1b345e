"""Which reader a file wants: told by what stands in it."""

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import NamedTuple

from bucketcast.moving import environment, export, legacy, notification
from bucketcast.moving.found import Found

_ASSIGNED = re.compile(r"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=")
_OF_AN_EXPORT = re.compile(
    r"#\s*MINIO_\S+=|(?:#\s*)?[a-z][a-z0-9_]*(?::\S*)?\s+[a-z0-9_]+=|notify_[a-z]+(?::\S*)?$"
)


class File(NamedTuple):
    """A file by the name that its user knows, and its text."""

    name: str
    text: str


def read(files: Iterable[File], *, bucket: str = "") -> Found:
    """Read all files; `bucket` is whose notification XML it is.

    Raises:
        ConfigErrors: with every mistake.
    """
    found = Found()
    for file in files:
        reader = _reader(file.text)
        if reader is not None:
            reader(file.text, file.name, found)
        elif file.text.lstrip().startswith("<"):
            notification.read(file.text, file.name, found, bucket=bucket or _folder(file.name))
        else:
            found.wrong(
                file.name,
                "found nothing of MinIO's",
                "allowed are the text of `mc admin config export`, MINIO_… variables, a "
                "config.json, notification XML",
            )
    found.checked()
    return found


def _reader(text: str) -> Callable[[str, str, Found], None] | None:
    if text.lstrip().startswith("{"):
        return legacy.read
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if line[0] not in "#;"), "")
    if _ASSIGNED.match(said):
        return environment.read
    return export.read if any(map(_OF_AN_EXPORT.match, lines)) else None


def _folder(name: str) -> str:
    """The bucket of `<bucket>/notification.xml`, as MinIO exports it."""
    path = PurePath(name)
    return path.parent.name if path.name == "notification.xml" else ""
