"""The history of whole scans: what it has of each, however they ended."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.scanner.alert_states import ALERT_STATES
from glue_jobs.scanner.history import History, Origin, owe
from glue_jobs.scanner.state import Generation
from glue_jobs.scanner.usage import Usage
from tests.glue.scans import BUCKET, Scans, crash_at

DAY: Final = timedelta(days=1)
START: Final = datetime(2026, 3, 30, 12, tzinfo=UTC)


class Clock:
    """The clock of the scans, as a test sets it."""

    def __init__(self) -> None:
        self.time = START

    def now(self, _zone: object) -> datetime:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("glue_jobs.scanner.scan.datetime", clock)
    return clock


class Found:
    """The history of a test's scans, with runs 1, 2 and so on."""

    def __init__(self, spark: SparkSession, scans: Scans) -> None:
        self._table = f"{scans.history}.findings"
        self._spark = spark

    def runs(self) -> list[str]:
        return [row[0] for row in self.rows()]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return run, day of the source, key, count, state and day of the first source."""
        rows = self._spark.table(self._table).select(
            sql.substring_index("run", "/", -1),
            sql.date_format("taken", "MM-dd"),
            "key",
            "count",
            "state",
            sql.date_format("since", "MM-dd"),
        )
        return sorted(tuple(row) for row in rows.collect())

    def objects(self) -> list[tuple[str, str, int]]:
        """Return run, day of the source and the number of objects."""
        usage = self._spark.table(self._table.replace("findings", "usage"))
        rows = usage.where("dimension = 'total'").select(
            sql.substring_index("run", "/", -1), sql.date_format("taken", "MM-dd"), "objects"
        )
        return sorted(tuple(row) for row in rows.collect())


@pytest.fixture
def history(spark: SparkSession, scans: Scans) -> Found:
    return Found(spark, scans)


def scan_on(scans: Scans, day: float, keys: dict[str, int], **options: str) -> dict[str, Any]:
    """Scan a source of this many days after the start."""
    scans.taken = START + day * DAY
    scans.keys = keys
    return scans.scan(**options)


def test_an_older_source_changes_nothing_that_a_newer_one_showed(
    scans: Scans, history: Found, clock: Clock
) -> None:
    scans.add_rule()
    scan_on(scans, 1, {"a/new": 3, "b/old": 3}, prefix="a/")
    assert scans.events() == [("ManyVersions", "a/new", 3)]

    clock.time += DAY
    result = scan_on(scans, 0, {"a/gone": 3, "b/old": 3})
    assert [(row["key"], row["state"]) for row in result["findings"]] == [("b/old", "new")]
    assert scans.events() == [("ManyVersions", "b/old", 3)]
    with pytest.raises(BucketcastError, match=r"^a list is older .*: scan a newer one$"):
        scan_on(scans, 0.5, {"a/gone": 3}, prefix="a/")

    clock.time += DAY
    result = scan_on(scans, 3, {"a/new": 6})
    assert [(row["key"], row["state"], row["since"]) for row in result["findings"]] == [
        ("a/new", "worse", "2026-03-31T12:00:00+00:00"),
        ("b/old", "cleared", "2026-03-30T12:00:00+00:00"),
    ]
    assert history.rows() == [
        ("1", "03-31", "a/new", 3, "new", "03-31"),
        ("2", "03-30", "b/old", 3, "new", "03-30"),
        ("4", "04-02", "a/new", 6, "worse", "03-31"),
        ("4", "04-02", "b/old", None, "cleared", "03-30"),
    ]
    assert history.objects() == [("1", "03-31", 1), ("2", "03-30", 2), ("4", "04-02", 1)]
    page = files.read(result["report"]).decode()
    assert "from 3 versions in 2 days" in page
    assert page.count("<polyline") == 3, "of the finding, the objects and the bytes"
    assert '<th scope="row">bytes</th>' in page


def test_a_scan_that_ended_anywhere_has_its_alerts_and_rows_once(
    scans: Scans, history: Found
) -> None:
    scans.add_rule()
    scans.keys = {"many": 3, "a/x/1": 1, "a/y/1": 1, "a/z/1": 1}
    crash_at(scans, "glue_jobs.scanner.state.StateStore.commit")
    assert (scans.events(), history.rows()) == ([], []), "it had no effect"
    crash_at(scans, "glue_jobs.outbox.sender.send")
    assert (scans.events(), history.rows()) == ([], []), "the next scan sends and adds them"
    crash_at(scans, "glue_jobs.files.remove")
    assert scans.events() == [("BigPrefix", "a/", 3), ("ManyVersions", "many", 3)]
    assert history.runs() == ["2", "2"], "it does not know that they are added"
    scans.keys["more"] = 5
    crash_at(scans, "glue_jobs.scanner.history.History.expire")
    assert scans.events() == [("ManyVersions", "more", 5)]

    again = scans.scan()
    assert scans.events() == []
    assert history.runs() == ["2", "2", *["4"] * 3, *["5"] * 3]
    assert [run for run, *_ in history.objects()] == ["2", "4", "5"]
    assert (again["events"], again["prefix"]) == (0, "")
    assert again["numbers"] == {"ManyVersions": {"same": 2}, "BigPrefix": {"same": 1}}
    assert b"Scan of uploads" in files.read(again["report"])


class Months:
    """A history of generations of one finding that a test writes."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder.as_uri()
        self.past = History(spark, f"history.{folder.name}")
        self.past.open()

    def owing(self, at: datetime, bucket: str = BUCKET, usage: Sequence[Usage] = ()) -> Generation:
        """Write a generation that is not in the history yet."""
        generation = Generation(f"{self._folder}/{bucket}/{at:%Y-%m-%dT%H}", 0, files.ABSENT)
        row = ("ManyVersions", "many", 3, 3, 3, "same", at, 3, at, True)
        states = self._spark.createDataFrame([row], ALERT_STATES)
        states.write.parquet(f"{generation.folder}/alert_states")
        owe(
            generation,
            Origin(bucket, "", "a list", at, at, f"{self._folder}/runs/{at:%m-%dT%H}"),
            list(usage),
        )
        return generation

    def rows(self) -> list[tuple[str, str]]:
        """Return bucket and time of each row."""
        day = sql.date_format("scanned_at", "yyyy-MM-dd")
        rows = self._spark.table(f"{self.past.database}.findings").select("bucket", day)
        return sorted(tuple(row) for row in rows.collect())

    def files(self) -> list[str]:
        """Return the folder of each file that the table has."""
        rows = self._spark.table(f"{self.past.database}.findings.files").select("file_path")
        return sorted(_folder(row.file_path.partition("/data/")[2]) for row in rows.collect())

    def stored(self) -> list[str]:
        """Return the folder of each file that exists."""
        warehouse = self._spark.conf.get("spark.sql.catalog.history.warehouse")
        database = self.past.database.partition(".")[2]
        found = files.list_files(f"{warehouse}/{database}/findings/data")
        return [_folder(name) for name in found if name.endswith(".parquet")]


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


@pytest.fixture
def months(spark: SparkSession, tmp_path: Path) -> Months:
    return Months(spark, tmp_path)


def test_two_at_once_that_add_the_same_rows_add_them_once(months: Months) -> None:
    generations = [months.owing(START), months.owing(START, "other")]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(months.past.add, [*generations, *generations]))
    assert months.rows() == [("other", "2026-03-30"), (BUCKET, "2026-03-30")]


@pytest.mark.both_sparks
def test_files_of_past_months_are_joined_and_removed_after_the_retention(months: Months) -> None:
    times = [START, START + DAY, START + 2 * DAY, START + 3 * DAY]
    for at in times:
        months.past.add(months.owing(at))
    months.past.add(months.owing(START, "other"))
    march, april = (f"bucket={BUCKET}/scanned_at_month=2026-{month}" for month in ("03", "04"))
    other = march.replace(BUCKET, "other")
    assert months.files() == [other, march, march, april, april]

    days = [(BUCKET, f"{at:%Y-%m-%d}") for at in times]

    def compact(at: datetime) -> None:
        months.past.expire(BUCKET, 30 * DAY, at, compact=True)

    compact(times[-1])
    assert months.files() == [other, march, april, april]
    assert months.rows() == [("other", days[0][1]), *days]
    compact(times[-1] + 28 * DAY)
    assert months.rows() == [("other", days[0][1]), *days], "its last rows are not so old"
    compact(times[-1] + 29 * DAY)
    assert months.rows() == [("other", days[0][1]), *days[2:]]
    assert months.files() == [other, april]

    # Files go with the snapshot after the last that has them.
    months.past.add(months.owing(START + DAY, "other"))
    months.past.expire(BUCKET, 30 * DAY, datetime.now(UTC) + 2 * DAY, compact=False)
    assert months.stored() == months.files() == [other, other, april]


def test_growth_has_the_last_count_of_each_day(months: Months) -> None:
    for hours in (0, 6, 24):
        months.past.add(months.owing(START + timedelta(hours=hours)))
    months.past.add(months.owing(START, "other"))
    counts = months.past.growth(BUCKET, ["many", "few"], START + DAY)
    assert counts == {("ManyVersions", "many"): [(START.date(), 3), ((START + DAY).date(), 3)]}
    assert months.past.growth(BUCKET, ["many"], START + 120 * DAY) == {}


def test_usage_with_versions_is_not_compared_with_usage_without(months: Months) -> None:
    for hours, total in ((0, Usage("total", "", 2, 7, 0, 90, 70)), (6, Usage("total", "", 3))):
        months.past.add(months.owing(START + timedelta(hours=hours), usage=[total]))
    day = START.date()
    assert months.past.usage(BUCKET, "", START + DAY, versions=True) == [(day, 2, 90)]
    assert months.past.usage(BUCKET, "", START + DAY, versions=False) == [(day, 3, None)]


def test_a_table_that_was_dropped_begins_anew(spark: SparkSession, months: Months) -> None:
    months.past.add(months.owing(START))
    owing = months.owing(START + DAY)
    spark.sql(f"DROP TABLE {months.past.database}.findings")
    with pytest.raises(BucketcastError, match=r"^--history: .*findings"):
        months.past.add(owing)
    months.past.open()
    months.past.add(owing)
    assert months.rows() == [(BUCKET, "2026-03-31")]
