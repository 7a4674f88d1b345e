"""The history of scans: Iceberg tables that reports show and Athena can ask.

::

    DATABASE.findings    a row for each finding of each scan, and for what it cleared
    DATABASE.usage       a scan's rows of `usage.Usage`

A scan's rows are those of its generation (`state`). They are added after it became current, so a
scan without effect leaves none; the next scan adds what one that ended before that still owes. They
replace those that their run has already: once or twice makes no difference.

`docs/adr/0051-the-history-is-an-iceberg-table.md`
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

import msgspec
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from bucketcast.event.scanner import KINDS
from glue_jobs import files
from glue_jobs.reason import reason
from glue_jobs.scanner.state import Generation
from glue_jobs.scanner.usage import USAGE, Usage

GROWTH_DAYS: Final = 90
USAGE_DAYS: Final = 365
_SNAPSHOTS_KEPT: Final = timedelta(days=1)
"""Queries that began before a change still read what they found."""
_OWED: Final = "owed"
"""The folder in a generation whose file says what the history lacks of it."""
_ORIGIN: Final = (
    "bucket string COMMENT 'the scanned bucket'",
    "prefix string COMMENT 'the scan read the keys that begin with it'",
    "source string COMMENT 'what the scan read'",
    "taken timestamp COMMENT 'the time of the source'",
    "scanned_at timestamp COMMENT 'the time of the scan'",
    "run string COMMENT 'the folder of the run'",
)
_FINDINGS: Final = (
    f"kind string COMMENT '{', '.join(KINDS)}'",
    "key string COMMENT 'the key or prefix'",
    "count bigint COMMENT 'versions, bytes or sub-folders, by kind; null if cleared'",
    "versions bigint",
    "bytes bigint",
    "state string COMMENT 'new, worse, same, unmatched or cleared'",
    "since timestamp COMMENT 'the time of the source that showed it first'",
)
_USAGE: Final = tuple(f"{field.name} {field.dataType.simpleString()}" for field in USAGE)
_TABLES: Final = {"findings": _FINDINGS, "usage": _USAGE}
_PROPERTIES: Final = {
    # The rows of a scan are one partition's, so there is nothing to shuffle.
    "write.distribution-mode": "none",
    # By it Iceberg knows which files are a run's; its default are 16 characters.
    "write.metadata.metrics.column.run": "full",
    # Scans of all buckets commit to one table.
    "commit.retry.num-retries": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}

Growth = Sequence[tuple[date, int]]
"""A count by day, in order."""


class Origin(msgspec.Struct, frozen=True):
    """What all rows of a scan have in common."""

    bucket: str
    prefix: str
    source: str
    taken: datetime
    scanned_at: datetime
    run: str


class _Owed(msgspec.Struct):
    """What the history lacks of a generation, besides its alert states."""

    origin: Origin
    usage: list[Usage]


@dataclass(frozen=True, slots=True)
class History:
    """The history of all buckets; `database` is `catalog.database`."""

    spark: SparkSession
    database: str

    def open(self) -> None:
        """Create the tables, unless they exist.

        Raises:
            BucketcastError: the catalog or a table cannot be used, as of all methods here.
        """
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in _PROPERTIES.items())
        with self._errors():
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.database}")
            for name, columns in _TABLES.items():
                self.spark.sql(
                    f"CREATE TABLE IF NOT EXISTS {self.database}.{name} "
                    f"({', '.join((*_ORIGIN, *columns))}) USING iceberg "
                    f"PARTITIONED BY (bucket, months(scanned_at)) TBLPROPERTIES ({properties})"
                )

    def add(self, generation: Generation) -> None:
        """Add the rows that it owes, if any."""
        if not generation.folder:
            return
        try:
            owed = msgspec.json.decode(files.read(_owed(generation)), type=_Owed)
        except files.MissingFileError:
            return
        states = generation.alert_states(self.spark).where("state is not null")
        usage = self.spark.createDataFrame(owed.usage, USAGE).coalesce(1)
        with self._errors():
            self._replace("findings", states, owed.origin)
            self._replace("usage", usage, owed.origin)
        files.remove(f"{generation.folder}/{_OWED}")

    def _replace(self, table: str, rows: DataFrame, origin: Origin) -> None:
        """Write a scan's rows, in place of those that its run has already."""
        shared = [
            sql.lit(value).alias(name) for name, value in msgspec.structs.asdict(origin).items()
        ]
        own = [column.partition(" ")[0] for column in _TABLES[table]]
        rows.select(*shared, *own).writeTo(f"{self.database}.{table}").overwrite(
            (sql.col("bucket") == origin.bucket)
            & (sql.col("run") == origin.run)
            # Files of earlier months have the rows of many runs, and stay as they are.
            & (sql.col("scanned_at") >= sql.lit(_month(origin.scanned_at)))
        )

    def growth(
        self, bucket: str, keys: Collection[str], at: datetime
    ) -> Mapping[tuple[str, str], Growth]:
        """Return the counts of findings by kind and key, for the days before a time."""
        if not keys:
            return {}
        lately = sql.col("scanned_at") >= sql.lit(at - timedelta(days=GROWTH_DAYS))
        wanted = lately & sql.col("count").isNotNull() & sql.col("key").isin(*keys)
        found = defaultdict(list)
        with self._errors():
            rows = self.spark.table(f"{self.database}.findings").where(wanted)
            of_bucket = rows.where(sql.col("bucket") == bucket)
            for row in _by_day(of_bucket, "kind", "key", count="count").collect():
                found[row.kind, row.key].append((row.day, row["count"]))
        return {finding: sorted(days) for finding, days in found.items()}

    def usage(
        self, bucket: str, prefix: str, taken: datetime, *, versions: bool
    ) -> Sequence[tuple[date, int, int | None]]:
        """Return the objects and bytes below a prefix by day, for a year before a source's time.

        They are of sources with versions, or of those without, since bytes are of all versions.
        """
        year = sql.col("taken").between(sql.lit(taken - timedelta(days=USAGE_DAYS)), sql.lit(taken))
        same = (sql.col("bucket") == bucket) & (sql.col("prefix") == prefix)
        same &= sql.col("noncurrent").isNotNull() == versions
        with self._errors():
            rows = self.spark.table(f"{self.database}.usage").where("dimension = 'total'")
            by_day = _by_day(rows.where(same & year), objects="objects", bytes="bytes").collect()
        return sorted((row.day, row.objects, row.bytes) for row in by_day)

    def expire(self, bucket: str, retention: timedelta, at: datetime, *, compact: bool) -> None:
        """Remove old snapshots; with `compact`, also old rows, and small files of earlier months.

        A month's rows go together, when all of them are older than the retention. The files of this
        month stay, since a run's rows are replaced by whole files.
        """
        with self._errors():
            for name in _TABLES:
                if compact:
                    self._compact(name, bucket, _month(at), _month(at - retention))
                limit = round((at - _SNAPSHOTS_KEPT).timestamp() * 1000)
                self._load(name).expireSnapshots().expireOlderThan(limit).commit()

    def _compact(self, name: str, bucket: str, month: datetime, oldest: datetime) -> None:
        """Remove a bucket's rows before `oldest`, and join its files before `month`."""
        java: Any = self.spark._jvm  # noqa: SLF001 - Iceberg has no Python of its own in Spark
        expression = java.org.apache.iceberg.expressions.Expressions

        def before(time: datetime) -> Any:
            earlier = expression.lessThan("scanned_at", time.isoformat())
            return getattr(expression, "and")(expression.equal("bucket", bucket), earlier)

        table = self._load(name)
        table.newDelete().deleteFromRowFilter(before(oldest)).commit()
        actions = java.org.apache.iceberg.spark.actions.SparkActions
        rewrite = actions.get(self.spark._jsparkSession).rewriteDataFiles(table)  # noqa: SLF001
        rewrite.filter(before(month)).option("min-input-files", "2").execute()

    def _load(self, name: str) -> Any:
        """Return Iceberg's own table, whose upkeep needs no job of Spark's."""
        java: Any = self.spark._jvm  # noqa: SLF001
        return java.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            self.spark._jsparkSession,  # noqa: SLF001
            f"{self.database}.{name}",
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            raise BucketcastError(f"--history: {self.database}: {reason(error)}") from error


def owe(generation: Generation, origin: Origin, usage: list[Usage]) -> None:
    """Note what the history lacks of a generation, before it becomes current."""
    files.write(_owed(generation), msgspec.json.encode(_Owed(origin, usage)))


def _owed(generation: Generation) -> str:
    return f"{generation.folder}/{_OWED}/scan.json"


def _by_day(rows: DataFrame, *group: str, **last: str) -> DataFrame:
    """Return the last values of each day, by the time of the source."""
    day = sql.to_date("taken").alias("day")
    values = [sql.max_by(column, "taken").alias(name) for name, column in last.items()]
    return rows.groupBy(*group, day).agg(*values)


def _month(at: datetime) -> datetime:
    return at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
