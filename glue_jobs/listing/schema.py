"""The schema of a listing's rows, whichever source they came from."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from bucketcast.mirror.synthetic import Object
from glue_jobs.columns import schema


class Row(NamedTuple):
    """A version, or an object where the source lists no versions.

    `key` is decoded. `version_id` is None where the source names none, and "null" for S3's own
    version of that name; such rows are the latest. `size` is in bytes, 0 for a delete marker and
    None where the source does not say; `etag` has no quotation marks; `storage_class` is as S3
    calls it.
    """

    bucket: str
    key: str
    version_id: str | None
    is_latest: bool
    is_delete_marker: bool
    size: int | None
    last_modified: datetime | None
    etag: str | None
    storage_class: str | None


LISTING: Final = schema(Row)


@dataclass(frozen=True, slots=True)
class Listing:
    """A bucket's content as a source has it.

    `objects` are rows of `LISTING`, with all versions if `versions`; `taken` is their time: later
    changes may be missing. `name` describes the source, and `lacking` are the columns that it does
    not have. It has the keys that begin with `prefix`, or some that are not known if that is None;
    `notes` say what the user should know of that. `report` is the id of a report's configuration.
    """

    objects: DataFrame
    versions: bool
    taken: datetime
    name: str
    lacking: frozenset[str] = frozenset()
    prefix: str | None = ""
    notes: tuple[str, ...] = ()
    report: str = ""

    @property
    def filter_notes(self) -> tuple[str, ...]:
        """What a report's filter may have hidden, since S3 tells that of now alone."""
        if not self.report:
            return ()
        now = "not known" if self.prefix is None else self.prefix or "all keys"
        note = (
            f"{self.report} lists what its filter was when the report was made, and that is not "
            f"told (now: {now}): if it was another, run this with --source listing"
        )
        return (note,)

    @property
    def sizes(self) -> bool:
        """True if it has the sizes of objects."""
        return "size" not in self.lacking


def select_rows(frame: DataFrame, bucket: str, *, versions: bool) -> DataFrame:
    """Select rows of `LISTING` from a source's, whose columns have S3's names; it may lack some."""

    def column(name: str) -> Column:
        return sql.col(name) if name in frame.columns else sql.lit(None)

    def text(name: str) -> Column:
        return sql.when(column(name) != "", column(name))

    marker = sql.coalesce(column("is_delete_marker"), sql.lit(col=False))
    version = sql.coalesce(text("version_id"), sql.lit("null")) if versions else sql.lit(None)
    columns = {
        "bucket": sql.lit(bucket),
        "key": sql.col("key"),
        "version_id": version,
        "is_latest": sql.coalesce(column("is_latest"), sql.lit(col=True)),
        "is_delete_marker": marker,
        "size": sql.when(marker, sql.lit(0)).otherwise(column("size")),
        "last_modified": column("last_modified_date"),
        "etag": text("e_tag"),
        "storage_class": text("storage_class"),
    }
    return frame.select(
        *(columns[field.name].cast(field.dataType).alias(field.name) for field in LISTING)
    )


def current_objects(rows: DataFrame) -> DataFrame:
    """Return the current objects of `LISTING`, without older versions and delete markers.

    The columns are those of `Object`, in its order: `Object(*row)`.
    """
    return _to_objects(rows.where("is_latest and not is_delete_marker"))


def all_versions(rows: DataFrame) -> DataFrame:
    """Return all rows of `LISTING` as `current_objects` does, those of a key by their times.

    Times are whole seconds, and sources list the newest version first. The current one is the last:
    an upload in parts has the time of its start.
    """
    listed = rows.withColumn("place", sql.monotonically_increasing_id()).repartition("key")
    by_key = listed.sortWithinPartitions("key", "is_latest", "last_modified", sql.desc("place"))
    return _to_objects(by_key)


def _to_objects(rows: DataFrame) -> DataFrame:
    return rows.withColumn("modified", sql.unix_millis("last_modified")).select(*Object._fields)


def unix_ms(at: datetime) -> int:
    """Return a time in Unix milliseconds, as in `Object.modified`."""
    return round(at.timestamp() * 1000)
