"""What changed in a bucket, from its S3 Metadata journal table (Iceberg, minutes behind).

https://docs.aws.amazon.com/AmazonS3/latest/userguide/metadata-tables-schema.html

`docs/adr/0052-replayed-changes-lose.md`
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from bucketcast.event import Event
from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.mirror.synthetic import Object, created, marked, removed, time_of
from bucketcast.settings.pipeline import Backfill
from glue_jobs.listing.metadata import Table, open_table
from glue_jobs.listing.schema import Listing

SOURCE: Final = "journal"
_CREATE, _DELETE = "CREATE", "DELETE"
_LIFECYCLE: Final = "s3.amazonaws.com"
_TIME: Final = "record_timestamp"
_ANY_TIME: Final = datetime.min.replace(tzinfo=UTC)
_ORDER: Final = "sequence_number"
_COLUMNS: Final = {
    "bucket": "bucket",
    "key": "key",
    "version_id": "version_id",
    "size": "size",
    "etag": "e_tag",
    "storage_class": "storage_class",
    "is_delete_marker": "is_delete_marker",
    "kind": "record_type",
    "requester": "requester",
    "source_ip": "source_ip_address",
    "request_id": "request_id",
    "tags": "object_tags",
    "metadata": "user_metadata",
}
"""The journal's columns, by the fields of `Change`."""


class Change(NamedTuple):
    """A row of the journal: an object that was created, or removed if `kind` is DELETE.

    `at` is Unix ms and grows with each change of a key. What the journal does not state is None: of
    a permanent removal it states the version at most.
    """

    bucket: str
    key: str
    version_id: str | None
    size: int | None
    etag: str | None
    at: int
    storage_class: str | None
    is_delete_marker: bool
    kind: str
    requester: str | None
    source_ip: str | None
    request_id: str | None
    tags: dict[str, str] | None
    metadata: dict[str, str] | None


def read(spark: SparkSession, settings: Backfill) -> Listing:
    """Read what was created and removed, as rows with the columns of `Change` and more.

    The rows of each key are in the order of its changes. `taken` is the time of the first one that
    is asked for, so that an event is never later than its target allows.

    Raises:
        BucketcastError: see `open_table`.
    """
    bucket, source, prefix = settings.bucket, settings.source, settings.prefix
    after, before = (
        settings.modified_after or _ANY_TIME,
        settings.modified_before or datetime.now(UTC),
    )
    columns = (*_COLUMNS.values(), _ORDER, _TIME)
    table = open_table(spark, bucket, SOURCE, source.partition(":")[2], columns)
    wanted = (sql.col(_TIME) >= _at(after)) & (sql.col(_TIME) < _at(before))
    rows = table.rows.where(wanted & sql.col("record_type").isin(_CREATE, _DELETE))
    if prefix:
        rows = rows.where(sql.col("key").startswith(prefix))
    return Listing(
        objects=_select(rows),
        versions=True,
        taken=after,
        name=str(table),
        notes=tuple(_notes(table, after, settings.modified_before)),
    )


def event(row: Sequence[Any]) -> Event:
    """Return the event of a `Change`: older than all real ones, and with who asked for it."""
    change = Change(*row[: len(Change._fields)])
    origin: dict[str, Any] = {
        "principal": change.requester or "",
        "source_ip": change.source_ip or "",
        "request_id": change.request_id or "",
    }
    listed = Object(*row[: len(Object._fields)])
    if change.kind == _CREATE:
        return created(listed, facts=origin | _facts(change))
    if change.is_delete_marker:
        gone = marked(listed, facts=origin)
    else:
        # An event without a version is about all of them; this row is about the one without an id.
        version = {"version_id": change.version_id or UNVERSIONED}
        time = time_of(change.at)
        gone = removed(change.bucket, change.key, time=time, facts=origin | version)
    if change.requester != _LIFECYCLE:
        return gone
    operation = gone.name.rpartition(":")[2]
    return msgspec.structs.replace(gone, original=f"s3:LifecycleExpiration:{operation}")


def _facts(change: Change) -> dict[str, Any]:
    """Return the tags and metadata of a creation, without those that the journal does not state."""
    facts: dict[str, Any] = {}
    if change.tags is not None:
        facts["tags"] = list(change.tags.items())
    if change.metadata is not None:
        named = change.metadata.items()
        facts["metadata"] = {f"x-amz-meta-{name.lower()}": value for name, value in named}
    return facts


def _select(rows: DataFrame) -> DataFrame:
    """Select rows of `Change`, and make the times of each key grow in the order of its changes.

    The order is that of the sequence numbers. Where S3's clocks disagree with it, or two changes
    have one millisecond, a change counts as a millisecond later than the one before it.
    """
    in_order = Window.partitionBy("key").orderBy(_ORDER)
    nth = sql.row_number().over(in_order)
    time = sql.col(_TIME).cast("timestamp")
    columns = {name: sql.col(column) for name, column in _COLUMNS.items()} | {
        "at": sql.max("ahead").over(in_order) + sql.col("nth"),
        "is_delete_marker": sql.coalesce("is_delete_marker", sql.lit(False)),  # noqa: FBT003
    }
    numbered = rows.withColumn("nth", nth).withColumn("ahead", sql.unix_millis(time) - nth)
    changes = (columns[name].alias(name) for name in Change._fields)
    return numbered.select(*changes, time.alias("last_modified"))


def _notes(table: Table, after: datetime, before: datetime | None) -> Iterator[str]:
    first: datetime | None = table.rows.agg(sql.min(_TIME)).collect()[0][0]
    if first and first.replace(tzinfo=UTC) > after:
        yield f"{table.name} begins at {first:%Y-%m-%d %H:%M:%S} UTC: it has no earlier changes"
    if before is None or before >= table.committed:
        yield f"{table} may lack the changes of the minutes before that"


def _at(time: datetime) -> Column:
    """Return a time as the journal's, which are UTC and have no zone."""
    return sql.lit(time.astimezone(UTC).replace(tzinfo=None)).cast("timestamp_ntz")
