"""Small files by URL: `s3://bucket/key`, or `file:///path` without S3.

Spark reads and writes the large ones. These are the manifests, checkpoints and states beside them,
which must be written whole, or only if no other process was first.
"""

import hashlib
import os
import re
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
_KEYS_PER_CALL: Final = 1_000
"""The most objects that one call removes."""
DENIED: Final = {"403", "AccessDenied"}
_CONFLICTS: Final = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_MISSING: Final = {"NoSuchKey", "NoSuchBucket", "404"}


class FileError(BucketcastError):
    """A file that cannot be read or written; the message names it."""


class MissingFileError(FileError):
    """The file does not exist."""


class ConflictError(FileError):
    """Another process wrote the file first."""


def read(url: str) -> bytes:
    """Return a file's content.

    Raises:
        MissingFileError: it does not exist.
        FileError: it cannot be read.
    """
    return read_with_etag(url)[0]


def read_with_etag(url: str) -> tuple[bytes, str]:
    """Return a file's content, and its ETag for `write`.

    Raises:
        MissingFileError: it does not exist.
        FileError: it cannot be read.
    """
    path = _local(url)
    with errors(url):
        if path:
            content = path.read_bytes()
            return content, hashlib.md5(content, usedforsecurity=False).hexdigest()
        response = client("s3").get_object(**_location(url))
        return response["Body"].read(), response["ETag"]


def write(url: str, content: bytes, *, replaces: str | None = None, media_type: str = "") -> None:
    """Write a whole file; `replaces` is the ETag it must still have (`ABSENT`: it must be new).

    `media_type` is for browsers.

    Raises:
        ConflictError: it has another ETag.
        FileError: it cannot be written.
    """
    path = _local(url)
    with errors(url):
        if path:
            _write(path, content, replaces)
            return
        request: dict[str, Any] = {**_location(url), "Body": content}
        if replaces is not None:
            request |= {"IfMatch": replaces} if replaces else {"IfNoneMatch": "*"}
        if media_type:
            request["ContentType"] = media_type
        client("s3").put_object(**request)


def list_files(folder: str) -> list[str]:
    """Return the sorted names of the files below a folder, relative to it.

    Raises:
        FileError: it cannot be listed.
    """
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with errors(folder):
        if path:
            # A leading dot marks files that are being written, and Spark's own.
            paths = (file for file in path.rglob("[!.]*") if file.is_file())
            return sorted(file.relative_to(path).as_posix() for file in paths)
        return sorted(_list(folder, "Contents", "Key"))


def list_folders(folder: str) -> list[str]:
    """Return the sorted names of the folders directly in a folder.

    Raises:
        FileError: it cannot be listed.
    """
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with errors(folder):
        if path:
            return sorted(child.name for child in path.iterdir() if child.is_dir())
        return [
            name.rstrip("/") for name in _list(folder, "CommonPrefixes", "Prefix", Delimiter="/")
        ]


def _list(folder: str, entries: str, name: str, **request: str) -> Iterator[str]:
    """Yield the names of these entries of a listing, relative to the folder."""
    location = _location(folder)
    paginator = client("s3").get_paginator("list_objects_v2")
    pages = paginator.paginate(Bucket=location["Bucket"], Prefix=location["Key"], **request)
    for page in pages:
        for entry in page.get(entries, ()):
            yield entry[name].removeprefix(location["Key"])


def remove(folder: str) -> None:
    """Remove a folder and its content, if it exists.

    Raises:
        FileError: it cannot be removed.
    """
    folder = folder.rstrip("/") + "/"
    path = _local(folder)
    with errors(folder):
        if path:
            shutil.rmtree(path, ignore_errors=True)
            return
        location = _location(folder)
        objects = [{"Key": location["Key"] + name} for name in list_files(folder)]
        for start in range(0, len(objects), _KEYS_PER_CALL):
            request = {"Objects": objects[start : start + _KEYS_PER_CALL], "Quiet": True}
            answer = client("s3").delete_objects(Bucket=location["Bucket"], Delete=request)
            for error in answer.get("Errors", ())[:1]:
                raise FileError(f"{error['Key']} in {folder}: {error['Message']} ({error['Code']})")


def hadoop_path(url: str) -> str:
    """Return the path by which Spark reads a file: not percent-encoded, its wildcards escaped."""
    path = unquote(url) if url.startswith("file:") else url
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def _write(path: Path, content: bytes, replaces: str | None) -> None:
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False) if path.exists() else None
    if replaces is not None and replaces != (digest.hexdigest() if digest else ABSENT):
        raise ConflictError(f"{path.as_uri()} was written by another process meanwhile")
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
def errors(url: str) -> Iterator[None]:
    """Turn the errors of S3's client into errors that name what was read or written.

    Raises:
        FileError: instead of these.
    """
    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(f"{url}: there is no such file") from None
    except OSError as error:
        raise FileError(f"{url}: {error.strerror or error}") from error
    except ClientError as error:
        raise _file_error(url, error) from error
    except BotoCoreError as error:
        raise FileError(f"{url}: S3 cannot be reached: {error}") from error


def _file_error(url: str, error: ClientError) -> FileError:
    details: Any = error.response.get("Error", {})
    code = details.get("Code", "")
    if code in _CONFLICTS:
        return ConflictError(f"{url} was written by another process meanwhile")
    if code in DENIED:
        hint = "; `buckets` in [pipeline] names what the jobs may read"
        return FileError(f"{url}: {error}{hint}")
    return (MissingFileError if code in _MISSING else FileError)(f"{url}: {error}")
