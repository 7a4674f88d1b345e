"""Small files by URL: `s3://bucket/key`, or `file:///path` without S3.

Spark reads and writes the large ones. These are the manifests, checkpoints and states beside them,
which must be written whole, or only if nobody else was first.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from glue_jobs.aws import client

ABSENT: Final = ""
"""The ETag of a file that does not exist."""
_CHUNK: Final = 1 << 20
_KEYS_A_CALL: Final = 1_000
"""How many objects one call removes."""
_HINTS: Final = {
    "AccessDenied": "grant the job's role s3:GetObject and s3:ListBucket there",
    "NoSuchBucket": "there is no such bucket",
    "NoSuchKey": "there is no such object",
    "404": "there is no such object",
    "403": "grant the job's role s3:GetObject and s3:ListBucket there",
}
_TAKEN: Final = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_MISSING: Final = {"NoSuchKey", "NoSuchBucket", "404"}


class FileError(BucketcastError):
    """A file that cannot be read or written; the message names it."""


class MissingFileError(FileError):
    """The file does not exist."""


class TakenError(FileError):
    """Another process wrote the file first."""


def read(url: str) -> bytes:
    """Return a file's content.

    Raises:
        MissingFileError: it does not exist.
        FileError: it cannot be read.
    """
    return read_with_etag(url)[0]


def read_with_etag(url: str) -> tuple[bytes, str]:
    """Return a file's content, and its ETag for `write`."""
    path = _local(url)
    with _explained(url):
        if path:
            content = path.read_bytes()
            return content, hashlib.md5(content, usedforsecurity=False).hexdigest()
        answer = client("s3").get_object(**_location(url))
        return answer["Body"].read(), answer["ETag"]


def chunks(url: str) -> Iterator[bytes]:
    """Yield a file's content in pieces, for one that does not fit in memory."""
    path = _local(url)
    with _explained(url):
        if path:
            with path.open("rb") as file:
                while piece := file.read(_CHUNK):
                    yield piece
        else:
            yield from client("s3").get_object(**_location(url))["Body"].iter_chunks(_CHUNK)


def facts(url: str) -> tuple[int, str]:
    """Return a file's size in bytes and its ETag without quotation marks, "" without S3."""
    path = _local(url)
    with _explained(url):
        if path:
            return path.stat().st_size, ""
        answer = client("s3").head_object(**_location(url))
        return answer["ContentLength"], answer["ETag"].strip('"')


def write(url: str, content: bytes, *, over: str | None = None, kind: str = "") -> None:
    """Write a whole file; `over` is the ETag it must still have (`ABSENT`: it must be new).

    `kind` is the media type, for browsers.

    Raises:
        TakenError: it has another ETag.
        FileError: it cannot be written.
    """
    path = _local(url)
    with _explained(url):
        if path:
            _write(path, content, over)
            return
        condition = {} if over is None else {"IfMatch": over} if over else {"IfNoneMatch": "*"}
        media = {"ContentType": kind} if kind else {}
        client("s3").put_object(**_location(url), Body=content, **condition, **media)


def names(folder: str) -> list[str]:
    """Return the sorted names of the files below a folder, relative to it."""
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with _explained(folder):
        if path:
            # A leading dot marks files that are being written, and Spark's own.
            found = (each for each in path.rglob("[!.]*") if each.is_file())
            return sorted(each.relative_to(path).as_posix() for each in found)
        location = _location(folder)
        pages = client("s3").get_paginator("list_objects_v2")
        prefix = location["Key"]
        answers = pages.paginate(Bucket=location["Bucket"], Prefix=prefix)
        listed = (each["Key"] for answer in answers for each in answer.get("Contents", ()))
        return sorted(key.removeprefix(prefix) for key in listed)


def folders(folder: str) -> list[str]:
    """Return the sorted names of the folders directly in a folder."""
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with _explained(folder):
        if path:
            return sorted(each.name for each in path.iterdir() if each.is_dir())
        location = _location(folder)
        pages = client("s3").get_paginator("list_objects_v2")
        answers = pages.paginate(Bucket=location["Bucket"], Prefix=location["Key"], Delimiter="/")
        listed = (each["Prefix"] for answer in answers for each in answer.get("CommonPrefixes", ()))
        return sorted(prefix.removeprefix(location["Key"]).rstrip("/") for prefix in listed)


def remove(folder: str) -> None:
    """Remove a folder and its content, if it exists."""
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with _explained(folder):
        if path:
            shutil.rmtree(path, ignore_errors=True)
            return
        location, listed = _location(folder), names(folder)
        for start in range(0, len(listed), _KEYS_A_CALL):
            keys = [
                {"Key": location["Key"] + name} for name in listed[start : start + _KEYS_A_CALL]
            ]
            removed = {"Objects": keys, "Quiet": True}
            client("s3").delete_objects(Bucket=location["Bucket"], Delete=removed)


def _write(path: Path, content: bytes, over: str | None) -> None:
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False) if path.exists() else None
    if over is not None and over != (digest.hexdigest() if digest else ABSENT):
        raise TakenError(f"{path.as_uri()} was written by somebody else meanwhile")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _local(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _location(url: str) -> dict[str, str]:
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme not in ("s3", "s3a") or not bucket:
        raise FileError(f"{url}: found no s3://BUCKET/KEY")
    return {"Bucket": bucket, "Key": key}


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(f"{url}: there is no such file") from None
    except OSError as error:
        raise FileError(f"{url}: {error.strerror or error}") from error
    except ClientError as error:
        raise _translated(url, error) from error
    except BotoCoreError as error:
        raise FileError(f"{url}: S3 cannot be reached: {error}") from error


def _translated(url: str, error: ClientError) -> FileError:
    about: Any = error.response.get("Error", {})
    code = about.get("Code", "")
    if code in _TAKEN:
        return TakenError(f"{url} was written by somebody else meanwhile")
    text = f"{url}: {_HINTS.get(code) or about.get('Message') or error} ({code})"
    return MissingFileError(text) if code in _MISSING else FileError(text)
