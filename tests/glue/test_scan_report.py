"""What the report says of a bucket small enough to count by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bucketcast.printable import printable
from bucketcast.settings.jobs import Scan
from bucketcast.settings.options import Duration
from glue_jobs import files
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.scanner import alert_states, folders, report, versions
from glue_jobs.scanner.report.finding import Breakdown, Finding, Share
from glue_jobs.scanner.report.page import Page, html, size

TAKEN = datetime(2026, 3, 1, tzinfo=UTC)
GIB = 1 << 30
EVIL = "</title><script>alert(1)</script>&\"'\u202egpj.exe"
OLD = timedelta(days=400)
PLAN = [
    # of docs/plan.txt: latest, marker, GiB, age, storage class
    (True, False, 2, timedelta(hours=12), "STANDARD"),
    (False, False, 1, timedelta(days=3), "STANDARD"),
    (False, True, 0, timedelta(days=10), None),
    (False, False, 4, timedelta(days=60), "GLACIER"),
    (False, False, 8, OLD, "DEEP_ARCHIVE"),
]
LOGS = {
    "logs/": 0,
    "logs/file": 1_000,
    "logs/a/1": 10,
    "logs/a/x/2": 20,
    "logs/b/1": 100,
    "logs/c/1": 5,
    "logs/d/1": 1,
    "x/1": 7,
}
GIVEN = Scan(
    bucket="uploads",
    source="listing",
    prefix="",
    run="file:///run",
    alert_excess_versions=3,
    alert_versions_size=10 * GIB,
    alert_excess_folders=3,
    alert_worse=10,
    alert_cooldown=Duration(0.0),
    state="file:///alerts",
    ingress="https://sqs.example/ingress",
    rules="",
)


def rows() -> Iterator[tuple[Any, ...]]:
    for nth, (latest, marker, gib, age, storage) in enumerate(PLAN):
        version = (f"v{nth}", latest, marker, gib * GIB, TAKEN - age, None, storage)
        yield ("uploads", "docs/plan.txt", *version)
    for key, length in LOGS.items():
        latest, marker = True, False
        yield ("uploads", key, None, latest, marker, length, TAKEN - OLD, None, "STANDARD")
    for nth in range(4):
        latest, marker = nth == 0, False
        yield ("uploads", EVIL, f"v{nth}", latest, marker, 1, None, None, "STANDARD")


@pytest.fixture(scope="module")
def written(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mapping[str, Any], str]:
    """The report of the bucket above: what the result says of it, and the folder that it is in."""
    folder = (tmp_path_factory.mktemp("report") / "report").as_uri()
    objects = spark.createDataFrame(list(rows()), LISTING)
    many = versions.findings(objects, many=3, large=10 * GIB)
    found = alert_states.found(many, folders.findings(objects, many=3))
    gone = [("ManyVersions", "gone", None, None, None, None, 9, TAKEN, True)]
    judged = alert_states.compared(
        found,
        spark.createDataFrame(gone, alert_states.ALERT_STATES),
        at=TAKEN,
        rules=alert_states.Rules(10, 0),
        covered=sql.col("key").isNotNull(),
        matched=sql.col("key").isNotNull(),
    ).cache()
    numbers = {"ManyVersions": {"new": 2, "cleared": 1}, "LargeVersions": {"new": 1}}
    scanned = report.Scanned(GIVEN, TAKEN, numbers, ["Mind <this>."])
    listing = Listing(objects, versions=True, taken=TAKEN, name="a list")
    return report.write(judged, listing, scanned, folder), folder


def test_the_result_has_the_findings_with_their_bytes(written: tuple[Any, str]) -> None:
    result, folder = written

    plan = {"key": "docs/plan.txt", "state": "new", "bytes": 15 * GIB}
    assert result["findings"] == [
        plan | {"kind": "ManyVersions", "count": 5, "alerted": 5},
        plan | {"kind": "LargeVersions", "count": 15 * GIB, "alerted": 15 * GIB},
        {
            "kind": "BigPrefix",
            "key": "",
            "state": "new",
            "count": 4,
            "alerted": 4,
            "bytes": 15 * GIB + 1_147,
        },
        {
            "kind": "BigPrefix",
            "key": "logs/",
            "state": "new",
            "count": 4,
            "alerted": 4,
            "bytes": 1_136,
        },
        {
            "kind": "ManyVersions",
            "key": EVIL,
            "state": "new",
            "count": 4,
            "alerted": 4,
            "bytes": 4,
        },
        {
            "kind": "ManyVersions",
            "key": "gone",
            "state": "cleared",
            "count": None,
            "alerted": 9,
            "bytes": None,
        },
    ]
    assert result["report"] == f"{folder}/index.html"


def test_the_tables_have_ages_folders_and_noncurrent_versions(
    spark: SparkSession, written: tuple[Any, str]
) -> None:
    _, folder = written

    ages = spark.read.parquet(f"{folder}/ages").where("kind = 'ManyVersions'").orderBy("place")
    plan = [(r.name, r.versions, r.bytes) for r in ages.where("key = 'docs/plan.txt'").collect()]
    assert plan == [
        ("<1d", 1, 2 * GIB),
        ("<7d", 1, GIB),
        ("<30d", 1, 0),
        ("<90d", 1, 4 * GIB),
        ("<1y", 0, 0),
        ("older", 1, 8 * GIB),
    ]
    unknown = ages.where("name = 'unknown'").collect()
    assert [(row.key, row.versions) for row in unknown] == [(EVIL, 4)]
    largest = spark.read.parquet(f"{folder}/folders").orderBy("key", "place").collect()
    assert [(row.key, row.name, row.versions, row.bytes) for row in largest] == [
        ("", "docs/", 5, 15 * GIB),
        ("", "logs/", 7, 1_136),
        ("", "x/", 1, 7),
        ("", "</", 4, 4),
        ("logs/", "b/", 1, 100),
        ("logs/", "a/", 2, 30),
        ("logs/", "c/", 1, 5),
        ("logs/", "d/", 1, 1),
    ]
    found = spark.read.parquet(f"{folder}/findings").where("key = 'docs/plan.txt'")
    (many,) = found.where("kind = 'ManyVersions'").collect()
    assert (many.old_versions, many.old_bytes, many.markers) == (4, 13 * GIB, 1)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_safe_to_open_and_needs_nothing_else(written: tuple[Any, str]) -> None:
    page = files.read(written[0]["report"]).decode()
    found = Elements(page)

    assert not {"script", "link", "img", "iframe", "a"} & set(found.names)
    assert not [name for name, _ in found.attributes if name.startswith(("on", "href", "src"))]
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<script>alert(1)</script>" in found.text, "it can be read, and is no element"
    assert "\u202e" not in page
    assert "\\u202egpj.exe" in found.text
    assert found.names.count("svg") == found.names.count("title") - 1, "each chart has a title"
    for part in ("docs/plan.txt", "(the whole bucket)", "13.0 GiB", "Mind <this>."):
        assert part in found.text


def finding(kind: str, breakdown: Breakdown) -> Finding:
    return Finding(
        kind,
        "k",
        breakdown.versions,
        breakdown.versions,
        breakdown.bytes,
        "new",
        1,
        None,
        breakdown,
    )


def test_the_page_says_nothing_of_sizes_that_the_source_does_not_list() -> None:
    """Without them everything adds up to 0 bytes, which nobody said."""
    share = Share("<1d", 5, 0)
    breakdown = Breakdown(versions=9, old_versions=8, markers=1, ages=[share], folders=[share])
    thresholds = {"ManyVersions": 3, "LargeVersions": GIB, "BigPrefix": 3}
    numbers = {"ManyVersions": {"new": 1}}
    top = [finding("ManyVersions", breakdown), finding("BigPrefix", breakdown)]
    made = Page("uploads", "", "listing", TAKEN, TAKEN, thresholds, numbers, top, (), ())

    text = Elements(html(replace(made, sizes=False))).text

    assert "0 bytes" not in text
    assert text.count("unknown") == 4
    assert "8 of them are noncurrent" in text
    assert "Versions by age" in text
    assert "0 bytes" in Elements(html(made)).text


def test_numbers_read_well() -> None:
    assert (size(0), size(1_023), size(1_536), size(1 << 40)) == (
        "0 bytes",
        "1023 bytes",
        "1.5 KiB",
        "1.0 TiB",
    )
    assert printable("a b\tä\u200b\ud800") == "a b\\tä\\u200b\\ud800"
