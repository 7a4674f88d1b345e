"""S3 Inventory reports of known rows, in the layout of S3 and in all three formats.

::

    <folder>/<bucket>/<config-id>/2026-01-02T01-00Z/manifest.json, manifest.checksum
    <folder>/<bucket>/<config-id>/data/<uuid>.csv.gz | .orc | .parquet
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote, quote_plus

import pyarrow as pa  # type: ignore[import-untyped]
from hypothesis import strategies as st
from pyarrow import orc, parquet

from glue_jobs.listing.schema import Listing

TAKEN: Final = datetime(2026, 1, 2, 1, 0, tzinfo=UTC)
BEFORE: Final = datetime(2026, 1, 1, 12, 30, 15, tzinfo=UTC)
DESTINATION: Final = "inventories"

Format = Literal["CSV", "ORC", "Parquet"]


class Row(NamedTuple):
    """A row of `glue_jobs.listing.schema.LISTING`, in its order."""

    bucket: str
    key: str
    version_id: str | None = None
    is_latest: bool = True
    is_delete_marker: bool = False
    size: int | None = 1
    last_modified: datetime | None = BEFORE
    etag: str | None = "d41d8cd98f00b204e9800998ecf8427e"
    storage_class: str | None = "STANDARD"


def rows_of(listing: Listing) -> Counter[Row]:
    """Return the rows of a listing; collected times are of this process's zone, without it."""
    rows = (Row(*row) for row in listing.objects.collect())
    return Counter(
        row._replace(last_modified=row.last_modified and row.last_modified.astimezone(UTC))
        for row in rows
    )


class Field(NamedTuple):
    """A column: its name in a CSV's fileSchema, its name and type in the others."""

    csv: str
    column: str
    type: pa.DataType
    of: str
    """The field of `Row` that it shows, or "" for one that the jobs do not read."""


FIELDS: Final = (
    Field("Bucket", "bucket", pa.string(), "bucket"),
    Field("Key", "key", pa.string(), "key"),
    Field("VersionId", "version_id", pa.string(), "version_id"),
    Field("IsLatest", "is_latest", pa.bool_(), "is_latest"),
    Field("IsDeleteMarker", "is_delete_marker", pa.bool_(), "is_delete_marker"),
    Field("Size", "size", pa.int64(), "size"),
    Field("LastModifiedDate", "last_modified_date", pa.timestamp("ms", tz="UTC"), "last_modified"),
    Field("StorageClass", "storage_class", pa.string(), "storage_class"),
    Field("ReplicationStatus", "replication_status", pa.string(), ""),
    Field("ETag", "e_tag", pa.string(), "etag"),
)
_VERSIONS: Final = {"VersionId", "IsLatest", "IsDeleteMarker"}
_ENDS: Final[Mapping[str, str]] = {"CSV": "csv.gz", "ORC": "orc", "Parquet": "parquet"}


@dataclass(frozen=True, kw_only=True)
class Report:
    """The settings of a report; its rows are passed separately."""

    bucket: str
    format: Format = "Parquet"
    versions: bool = False
    config_id: str = "daily"
    taken: datetime = TAKEN
    fields: Sequence[str] = tuple(field.csv for field in FIELDS)
    """The columns by their names in a CSV, in the order of a CSV."""
    files: int = 2
    plus: bool = False
    """True if a blank in a CSV's key is "+", not "%20"."""


def write(folder: Path, rows: Iterable[Row], **settings: Any) -> str:
    """Write a report below a folder; `settings` are the fields of `Report`.

    Returns:
        The URL of its manifest.json.
    """
    report = Report(**settings)
    if not report.versions:
        kept = tuple(name for name in report.fields if name not in _VERSIONS)
        report = replace(report, fields=kept)
    home = folder / report.bucket / report.config_id
    rows = list(rows)
    parts = [rows[nth :: report.files] for nth in range(report.files)] if rows else []
    files = [_data(home, part, report) for part in parts]
    manifest = home / report.taken.strftime("%Y-%m-%dT%H-%MZ") / "manifest.json"
    content = {
        "sourceBucket": report.bucket,
        "version": "2016-11-30",
        "creationTimestamp": str(round(report.taken.timestamp() * 1000)),
        "fileFormat": report.format,
        "fileSchema": _schema(report),
        "files": [{"key": path.relative_to("/").as_posix()} for path in files],
    }
    return sign(manifest, json.dumps(content))


def sign(manifest: Path, content: str) -> str:
    """Write a manifest with a valid checksum; return its URL."""
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(content)
    manifest.with_name("manifest.checksum").write_text(_md5(content.encode()))
    return f"file://{manifest}"


def _schema(report: Report) -> str:
    if report.format == "CSV":
        return ", ".join(report.fields)
    kinds = {pa.int64(): "int64", pa.bool_(): "boolean"}
    columns = "; ".join(
        f"optional {kinds.get(field.type, 'binary')} {field.column}" for field in _chosen(report)
    )
    return f"message s3.inventory {{ {columns}; }}"


def _chosen(report: Report) -> list[Field]:
    fields = {field.csv: field for field in FIELDS}
    return [fields[name] for name in report.fields]


def _data(home: Path, rows: Sequence[Row], report: Report) -> Path:
    path = home / "data" / f"{uuid.uuid4()}.{_ENDS[report.format]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = _chosen(report)
    if report.format == "CSV":
        path.write_bytes(gzip.compress(_csv(fields, rows, report).encode(), mtime=0))
        return path
    columns = [
        pa.array([_value(row, field) for row in rows], field.type if field.of else pa.string())
        for field in fields
    ]
    table = pa.table(columns, names=[field.column for field in fields])
    if report.format == "ORC":
        # S3's ORC has plain timestamps, which are in UTC.
        index = table.schema.get_field_index("last_modified_date")
        if index >= 0:
            plain = table.column(index).cast(pa.timestamp("ms"))
            table = table.set_column(index, "last_modified_date", plain)
        orc.write_table(table, path, compression="zlib")
    else:
        parquet.write_table(table, path, compression="snappy")
    return path


def _value(row: Row, field: Field) -> Any:
    """Return a field as Inventory shows it: the "null" version and a marker's content are empty."""
    if not field.of or (row.is_delete_marker and field.of in ("size", "etag")):
        return None
    value = getattr(row, field.of)
    return None if field.of == "version_id" and value == "null" else value


def _csv(fields: Sequence[Field], rows: Sequence[Row], report: Report) -> str:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        writer.writerow(
            [_csv_value(_value(row, field), field, plus=report.plus) for field in fields]
        )
    return file.getvalue()


def _csv_value(value: Any, field: Field, *, plus: bool) -> str:
    if value is None:
        return ""
    if field.of == "key":
        return quote_plus(value, safe="/") if plus else quote(value, safe="/")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return str(value)


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


_PART: Final = st.one_of(
    st.sampled_from(["", "a", "a-b", "b", " ", "+", "%", "%2F", "a b", "a+b", "ä", "日本", "🪣"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\x00"), max_size=4),
)
KEYS: Final = (
    st.lists(_PART, min_size=1, max_size=5)
    .map("/".join)
    .filter(lambda key: 0 < len(key.encode()) <= 1024)
)
"""Unusual keys: blanks, signs, empty folder names, a slash at either end."""


@st.composite
def inventories(draw: st.DrawFn, bucket: str) -> list[Row]:
    """Draw a bucket of up to 12 keys and up to 6 versions of each, also delete markers."""
    rows: list[Row] = []
    for key in draw(st.lists(KEYS, unique=True, max_size=12)):
        count = draw(st.integers(1, 6))
        latest = draw(st.integers(0, count - 1))
        for nth in range(count):
            version = _id(key, nth) if nth else "null"
            marker = draw(st.booleans())
            size = 0 if marker else draw(st.integers(0, 1 << 42))
            age = timedelta(milliseconds=draw(st.integers(0, 3 * 365 * 86_400_000)))
            row = Row(bucket, key, version, nth == latest, marker, size, last_modified=BEFORE - age)
            rows.append(row._replace(etag=None) if marker else row)
    return draw(st.permutations(rows))


def _id(key: str, nth: int) -> str:
    digest = hashlib.md5(f"{key}\n{nth}".encode(), usedforsecurity=False).digest()
    return base64.urlsafe_b64encode(digest * 2).decode()[:32]
