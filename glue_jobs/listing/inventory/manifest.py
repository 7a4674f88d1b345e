"""An Inventory report's manifest.json, and the checksum beside it.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html
"""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec

from bucketcast.errors import BucketcastError
from glue_jobs import files

Format = Literal["CSV", "ORC", "Parquet"]
VERSION: Final = "2016-11-30"
_OPTIONAL: Final = {
    "size": {"Size", "size"},
    "last_modified": {"LastModifiedDate", "last_modified_date"},
    "storage_class": {"StorageClass", "storage_class"},
}
"""The names, in CSV and in Parquet or ORC, of the fields that a configuration may leave out."""
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\dZ")


class _File(msgspec.Struct, frozen=True):
    """A data file: its key in the destination bucket."""

    key: str


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    """The manifest.json as S3 writes it."""

    source_bucket: str
    version: Literal["2016-11-30"]
    creation_timestamp: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,15}$")]
    file_format: Format
    file_schema: str
    files: tuple[_File, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A finished report.

    `folder` is the URL of its configuration, whose last part is the configuration's id. `columns`
    are the names in fileSchema, in a CSV's order, and `files` the URLs of its data files.
    """

    url: str
    folder: str
    format: Format
    columns: tuple[str, ...]
    files: tuple[str, ...]
    taken: datetime

    @property
    def versions(self) -> bool:
        """True if it lists all versions."""
        return not {"VersionId", "version_id"}.isdisjoint(self.columns)

    @property
    def lacking(self) -> frozenset[str]:
        """The columns of `LISTING` that it does not have."""
        return frozenset(
            column for column, names in _OPTIONAL.items() if names.isdisjoint(self.columns)
        )

    @property
    def id(self) -> str:
        """The configuration's id."""
        return self.folder.rpartition("/")[2]


def read_manifest(url: str, bucket: str) -> Manifest:
    """Read the report of a bucket whose manifest.json is at this URL.

    Raises:
        BucketcastError: it is unfinished, damaged, unreadable or another bucket's.
    """
    content = files.read(url)
    _check_checksum(content, url)
    return _parse(content, url, bucket)


def read_newest(folder: str, bucket: str) -> Manifest:
    """Read the newest finished report in the folder of a configuration.

    Raises:
        BucketcastError: there is none, or the newest is damaged or of another bucket.
    """
    folder = folder.rstrip("/")
    dated = [name for name in files.list_folders(folder) if _DATED.fullmatch(name)]
    for name in reversed(dated):
        with suppress(UnfinishedError):
            return read_manifest(f"{folder}/{name}/manifest.json", bucket)
    raise BucketcastError(
        f"{folder}/: found no finished report in it; name the folder of an Inventory "
        "configuration, …/SOURCE-BUCKET/CONFIGURATION-ID/, whose first report S3 may need 48 hours "
        "for, or a manifest.json"
    )


class UnfinishedError(BucketcastError):
    """A report that S3 is still writing: its checksum is missing."""


def _check_checksum(content: bytes, url: str) -> None:
    """Check the checksum, which S3 writes last of all."""
    checksum = url.removesuffix("manifest.json") + "manifest.checksum"
    try:
        wanted = files.read(checksum).decode("ascii", "replace").strip().lower()
    except files.MissingFileError:
        raise UnfinishedError(
            f"{checksum} does not exist, so this report is not finished; wait for it or name an "
            "older report"
        ) from None
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != wanted:
        raise BucketcastError(
            f"{url}: its MD5 is {digest}, manifest.checksum says {wanted or 'nothing'}: it was "
            "changed or cut; copy it again or name another report"
        )


def _parse(content: bytes, url: str, bucket: str) -> Manifest:
    try:
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.DecodeError as error:
        raise BucketcastError(
            f"{url}: {error}; wanted is the manifest.json of an S3 Inventory report, version "
            f"{VERSION}, whole"
        ) from error
    if document.source_bucket != bucket:
        raise BucketcastError(
            f"{url}: found a report of bucket {document.source_bucket}, wanted {bucket}; name a "
            f"report of {bucket}, or the bucket {document.source_bucket}"
        )
    folder = url.rsplit("/", 2)[0]
    return Manifest(
        url,
        folder,
        document.file_format,
        _columns(document, url),
        _data_files(document, folder, url),
        datetime.fromtimestamp(int(document.creation_timestamp) / 1000, UTC),
    )


def _columns(document: _Document, url: str) -> tuple[str, ...]:
    """Return the names in fileSchema; those of Parquet and ORC include its keywords."""
    if document.file_format == "CSV":
        names = [name.strip() for name in document.file_schema.split(",")]
        needed = {"Bucket", "Key"}
    else:
        names = re.findall(r"\w+", document.file_schema)
        needed = {"bucket", "key"}
    missing = needed - set(names)
    if missing:
        raise BucketcastError(
            f"{url}: fileSchema is {document.file_schema!r}, without {', '.join(sorted(missing))};"
            " columns are read in this order only, so use a report as S3 wrote it"
        )
    return tuple(names)


def _data_files(document: _Document, home: str, url: str) -> tuple[str, ...]:
    """Return the URLs of the data files, which are in this configuration's folder `home`."""
    folder = home.partition("://")[2].partition("/")[2]
    found: dict[str, None] = {}
    for file in document.files:
        parent, _, name = file.key.rpartition("/")
        data, data_url = f"{folder}/data", f"{home}/data/{name}"
        if parent != data or not name or data_url in found:
            raise BucketcastError(
                f"{url}: found the data file {file.key!r}, wanted each once and in "
                f"{data}/; take a report as S3 wrote it, where S3 wrote it"
            )
        found[data_url] = None
    return tuple(found)
