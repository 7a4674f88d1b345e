"""The report of a bucket small enough to count by hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Scan, parse
from glue_jobs import files
from glue_jobs.listing.schema import LISTING, Listing, unix_ms
from glue_jobs.scanner import alert_states, report, usage
from glue_jobs.scanner.alerts import Alerts
from glue_jobs.scanner.counting import find
from glue_jobs.scanner.coverage import Coverage
from glue_jobs.scanner.report.page import Finding, Page, html
from glue_jobs.scanner.sums import Thresholds, sum_up
from glue_jobs.scanner.usage import Usage

TAKEN = datetime(2026, 3, 1, tzinfo=UTC)
MS = unix_ms(TAKEN)
BEFORE = unix_ms(TAKEN - timedelta(days=30))
SINCE = TAKEN.isoformat()
GIB = 1 << 30
LIMITS = {"ManyVersions": 3, "LargeVersions": 10 * GIB, "BigPrefix": 3}
OPTIONS = {KINDS[kind].option: str(limit) for kind, limit in LIMITS.items()}
VALUES = {"bucket": "uploads", "run": "-", "state": "-", "ingress": "-", "table": "-"} | OPTIONS
SETTINGS = parse(Scan, [f"--{name}={value}" for name, value in VALUES.items()])
NO_ROWS: Any = None
EVIL = "</title><script>alert(1)</script>&\"'\u202egpj.exe"
PLAN = [
    # of docs/plan.txt: latest, marker, GiB
    (True, False, 2),
    (False, False, 1),
    (False, True, 0),
    (False, False, 4),
    (False, False, 8),
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


def rows() -> Iterator[tuple[Any, ...]]:
    facts = (TAKEN, None, "STANDARD")
    for nth, (latest, marker, gib) in enumerate(PLAN):
        yield ("uploads", "docs/plan.txt", f"v{nth}", latest, marker, gib * GIB, *facts)
    for key, length in LOGS.items():
        latest, marker = True, False
        yield ("uploads", key, None, latest, marker, length, *facts)
    for nth in range(4):
        latest, marker = nth == 0, False
        yield ("uploads", EVIL, f"v{nth}", latest, marker, 1, *facts)


@pytest.fixture(scope="module")
def written(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mapping[str, Any], str]:
    """Write the report of the bucket above; return its part of the result, and its folder."""
    folder = (tmp_path_factory.mktemp("report") / "report").as_uri()
    objects = spark.createDataFrame(list(rows()), LISTING)
    thresholds = Thresholds(versions=3, bytes=10 * GIB, folders=3)
    sums = sum_up(objects, TAKEN, thresholds)
    now = Coverage("", MS, versions=True, thresholds=LIMITS)
    seen = (True, 3, now.detail, MS)
    gone: Any = ("ManyVersions", "gone", *[None] * 4, BEFORE, 9, MS, *seen, [], [])
    states = alert_states.compare(
        find(objects, sums, thresholds),
        spark.createDataFrame([gone], alert_states.ALERT_STATES),
        alert_states.Comparison(MS, 10, 0, now, ()),
        partial(Alerts, "uploads", (), TAKEN),
    ).cache()
    numbers = {"ManyVersions": {"new": 2, "cleared": 1}, "LargeVersions": {"new": 1}}
    used = usage.rows(sums, Listing(objects, versions=True, taken=TAKEN, name="a list"))
    shown = replace(page(findings=0), numbers=numbers, usage=used, notes=["Mind <this>."])
    return report.write(states, shown, folder), folder


def new(kind: str, key: str, count: int, size: int | None) -> dict[str, Any]:
    """Return a finding of the result that was alerted now."""
    counts = {"count": count, "alerted": count, "bytes": size}
    return {"kind": kind, "key": key, "state": "new", "since": SINCE, **counts}


def test_the_result_has_the_findings_with_their_bytes(written: tuple[Any, str]) -> None:
    result, folder = written

    gone = new("ManyVersions", "gone", 9, None)
    assert result["findings"] == [
        new("ManyVersions", "docs/plan.txt", 5, 15 * GIB),
        new("LargeVersions", "docs/plan.txt", 15 * GIB, 15 * GIB),
        new("BigPrefix", "", 4, None),
        new("BigPrefix", "logs/", 4, None),
        new("ManyVersions", EVIL, 4, 4),
        gone | {"state": "cleared", "since": "2026-01-30T00:00:00+00:00", "count": None},
    ]
    assert result["report"] == f"{folder}/index.html"


def test_the_table_has_all_findings(spark: SparkSession, written: tuple[Any, str]) -> None:
    _, folder = written

    table = spark.read.parquet(f"{folder}/findings")
    assert table.columns == [
        "kind",
        "key",
        "count",
        "versions",
        "bytes",
        "state",
        "since",
        "alerted",
        "alerted_at",
    ]
    assert table.count() == 6
    (many,) = table.where("kind = 'ManyVersions' and key = 'docs/plan.txt'").collect()
    values = (many["count"], many.versions, many.bytes, many.state, many.alerted)
    assert values == (5, 5, 15 * GIB, "new", 5)
    assert table.where(sql.col("alerted_at") == sql.lit(TAKEN)).count() == 6


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


def test_the_page_has_no_scripts_and_no_external_resources(written: tuple[Any, str]) -> None:
    source = files.read(written[0]["report"]).decode()
    elements = Elements(source)

    assert not {"script", "link", "img", "iframe", "a"} & set(elements.names)
    assert not [name for name, _ in elements.attributes if name.startswith(("on", "href", "src"))]
    assert "default-src 'none'" in source
    assert "></th>" not in source, "each column has a name"
    assert "http://" not in source
    assert "https://" not in source
    assert "<script>alert(1)</script>" in elements.text, "it is shown as text"
    assert "\u202e" not in source
    assert "\\u202egpj.exe" in elements.text
    for shown in ("docs/plan.txt", "(the whole bucket)", "15.0 GiB", "Mind <this>."):
        assert shown in elements.text


def page(*top: Finding, findings: int, usage: Sequence[Usage] = ()) -> Page:
    numbers = {"ManyVersions": {"new": findings, "cleared": 7}}
    content = Listing(NO_ROWS, versions=True, taken=TAKEN, name="a list")
    return Page(SETTINGS, content, "", TAKEN, numbers, usage, (), top)


def test_the_page_begins_with_tables_of_the_usage() -> None:
    uploads = Usage("uploads", "", 37, bytes=1536, oldest=TAKEN)
    used = [
        Usage("total", "", 3, 1, 2, 40, 10),
        Usage("size_class", "LESS_THAN_1024_B", 3, 1, 0, 40, 10),
        Usage("prefix", "b/", 2, 0, 0, 20, 0),
        Usage("prefix", f"{EVIL.replace('/', '')}/", 1, 1, 2, 20, 10),
        uploads,
    ]
    source = html(page(findings=0, usage=used))
    elements = Elements(source)
    shown = elements.text[elements.text.index("Usage") : elements.text.index("Findings")]
    assert "incomplete uploads, the oldest of 2026-03-01" in shown
    assert "1.5 KiB" in shown
    assert shown.index("Sizes") < shown.index("LESS_THAN_1024_B") < shown.index("heaviest prefixes")
    assert "Storage classes" not in shown, "the source tells of none"
    assert source.count("\\u202e") == 1
    assert "<script" not in source


def test_the_page_has_no_sizes_if_the_source_lists_none() -> None:
    """As another has those of an empty bucket."""
    used = [Usage("total", "", 8), Usage("prefix", "a/", 6)]
    unsized = html(
        page(Finding("ManyVersions", "k", "new", MS, 9, 9, None), findings=1, usage=used)
    )
    assert "bytes</td>" not in unsized
    assert "None" not in unsized
    assert "0 bytes</td>" in html(page(findings=0, usage=[Usage("total", "", 0, 0, 0, 0, 0)]))


def test_the_page_says_that_it_shows_only_some_findings() -> None:
    shown = Finding("ManyVersions", "k", "new", MS, 9, 9, 9)

    assert "the first 1 of 1,200;" in Elements(html(page(shown, findings=1_200))).text
    assert "the first" not in Elements(html(page(shown, findings=1))).text
