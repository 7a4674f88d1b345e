"""Small files by URL: `s3://bucket/key`.

Spark reads and writes the large ones. These are the manifests, checkpoints and states beside them,
which must be written whole, or only if no other process was first.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

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
    with errors(url):
        response = client("s3").get_object(**_location(url))
        return response["Body"].read(), response["ETag"]


def write(url: str, content: bytes, *, replaces: str | None = None, media_type: str = "") -> None:
    """Write a whole file; `replaces` is the ETag it must still have (`ABSENT`: it must be new).

    `media_type` is for browsers.

    Raises:
        ConflictError: it has another ETag.
        FileError: it cannot be written.
    """
    with errors(url):
        request: dict[str, Any] = {**_location(url), "Body": content}
        if replaces is not None:
            request |= {"IfMatch": replaces} if replaces else {"IfNoneMatch": "*"}
        if media_type:
            request["ContentType"] = media_type
        client("s3").put_object(**request)


def list_files(folder: str) -> Iterator[str]:
    """Yield the names of the files below a folder, relative to it, in the order of S3's keys.

    Raises:
        FileError: it cannot be listed.
    """
    return _list(folder, "Contents", "Key")


def list_folders(folder: str) -> list[str]:
    """Return the sorted names of the folders directly in a folder.

    Raises:
        FileError: it cannot be listed.
    """
    names = _list(folder, "CommonPrefixes", "Prefix", Delimiter="/")
    return [name.rstrip("/") for name in names]


def _list(folder: str, entries: str, name: str, **request: str) -> Iterator[str]:
    """Yield the names of these entries of a listing, relative to the folder."""
    with errors(folder):
        location = _location(folder.rstrip("/") + "/")
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
    with errors(folder):
        location = _location(folder)
        objects = ({"Key": location["Key"] + name} for name in list_files(folder))
        while some := list(islice(objects, _KEYS_PER_CALL)):
            request = {"Objects": some, "Quiet": True}
            answer = client("s3").delete_objects(Bucket=location["Bucket"], Delete=request)
            for error in answer.get("Errors", ())[:1]:
                raise FileError(f"{error['Key']} in {folder}: {error['Message']} ({error['Code']})")


def hadoop_path(url: str) -> str:
    """Return the path by which Spark reads a file: its wildcards are escaped."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", url)


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
