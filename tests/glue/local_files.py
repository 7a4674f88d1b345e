"""Let the jobs keep their small files in folders here, as this Spark keeps its large ones.

`glue_jobs.files` knows S3 alone, which this Spark does not have. `install` gives its functions a
second way for `file:///` URLs, also in Spark's workers.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from glue_jobs import files


def install() -> None:
    """Replace the functions of `glue_jobs.files` in this process."""
    for local in (read_with_etag, write, list_files, list_folders, remove):
        original = getattr(files, local.__name__)
        setattr(files, local.__name__, partial(_choose, original, local))


def _choose(
    original: Callable[..., Any], local: Callable[..., Any], url: str, *more: Any, **named: Any
) -> Any:
    if url.startswith("file://"):
        return local(Path(url.removeprefix("file://")), *more, **named)
    return original(url, *more, **named)


def read_with_etag(path: Path) -> tuple[bytes, str]:
    if not path.exists():
        raise files.MissingFileError(f"file://{path}: there is no such file")
    content = path.read_bytes()
    return content, hashlib.md5(content, usedforsecurity=False).hexdigest()


def write(path: Path, content: bytes, *, replaces: str | None = None, **_: str) -> None:
    etag = read_with_etag(path)[1] if path.exists() else files.ABSENT
    if replaces not in (None, etag):
        raise files.ConflictError(f"file://{path} was written by another process meanwhile")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def list_files(folder: Path) -> Iterable[str]:
    # A leading dot marks Spark's own files.
    found = (file for file in folder.rglob("[!.]*") if file.is_file())
    return sorted(file.relative_to(folder).as_posix() for file in found)


def list_folders(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir() if child.is_dir())


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
