"""What a scan may alert or clear, by reach, columns, time and thresholds of its source."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Alerts, parse
from glue_jobs.listing.schema import Listing, unix_ms
from glue_jobs.scanner.coverage import (
    Allowed,
    Coverage,
    Filter,
    Seen,
    add,
    allow,
    check_filter,
    cover,
)
from tests.glue.inventories import TAKEN

NO_ROWS: Any = None
NOW = Coverage("", 100, versions=True, thresholds={"ManyVersions": 10, "BigPrefix": 10})
CURRENT = replace(NOW, versions=False, thresholds={"BigPrefix": 10})
UNKNOWN = replace(NOW, prefix=None)
SEEN = Seen(threshold=10, detail=NOW.detail, taken=100)


def source(**settings: Any) -> Listing:
    return Listing(NO_ROWS, **{"versions": True, "taken": TAKEN, "name": "a list", **settings})


def options(prefix: str = "") -> Alerts:
    return parse(Alerts, ["--prefix", prefix, "--alert_excess_folders", "7"])


def test_a_report_of_a_prefix_covers_only_the_findings_there() -> None:
    report = source(prefix="b/")
    assert cover(report, options()).prefix == "b/"
    assert cover(report, options("b/2026/")).prefix == "b/2026/"
    with pytest.raises(BucketcastError, match="--prefix: found 'c/', but a list lists only b/"):
        cover(report, options("c/"))
    assert cover(source(prefix=None), options("c/")).prefix is None


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, {"ManyVersions": 1_000, "LargeVersions": 1 << 40, "BigPrefix": 7}),
        ({"lacking": frozenset({"size"})}, {"ManyVersions": 1_000, "BigPrefix": 7}),
        ({"versions": False}, {"BigPrefix": 7}),
    ],
)
def test_a_source_covers_what_its_columns_show(
    settings: dict[str, Any], kinds: dict[str, int]
) -> None:
    assert cover(source(**settings), options()).thresholds == kinds


@pytest.mark.parametrize(
    ("now", "later", "allowed"),
    [
        (NOW, (), Allowed(alert=True, growth=True, clear=True)),
        (replace(NOW, prefix="a/b"), (), Allowed(alert=False, growth=False, clear=False)),
        (replace(NOW, taken=99), (), Allowed(alert=True, growth=False, clear=False)),
        (
            replace(NOW, thresholds={"BigPrefix": 11}),
            (),
            Allowed(alert=True, growth=True, clear=False),
        ),
        (CURRENT, (), Allowed(alert=True, growth=False, clear=False)),
        (UNKNOWN, (), Allowed(alert=True, growth=False, clear=False)),
        (NOW, (replace(NOW, taken=101),), Allowed(alert=False, growth=False, clear=False)),
        (NOW, (replace(CURRENT, taken=101),), Allowed(alert=True, growth=True, clear=True)),
    ],
)
def test_a_scan_decides_only_on_what_none_sees_better_or_later(
    now: Coverage, later: tuple[Coverage, ...], allowed: Allowed
) -> None:
    assert allow("BigPrefix", "a/", now, later, SEEN) == allowed


def test_a_source_that_sees_more_does_not_take_that_for_growth() -> None:
    seen = SEEN._replace(detail=CURRENT.detail)
    assert allow("BigPrefix", "a/", NOW, (), seen) == Allowed(alert=True, growth=False, clear=True)


def test_versions_of_one_key_are_counted_alike_whatever_the_reach() -> None:
    seen = SEEN._replace(detail=UNKNOWN.detail)
    assert [allow(kind, "a/", NOW, (), seen).growth for kind in NOW.thresholds] == [True, False]


def test_a_filter_that_cannot_be_read_once_is_not_forgotten() -> None:
    earlier = {"daily": Filter("a/", 5)}
    unread = source(prefix=None, report="daily", notes=("may not be read",))
    assert check_filter(unread, earlier, 10) == (unread, earlier)
    now = source(prefix="b/", report="daily", notes=("lists only b/",))
    found, _ = check_filter(now, earlier, unix_ms(TAKEN) + 1)
    assert (found.prefix, found.notes[0]) == (None, "lists only b/")


def test_a_filter_is_known_for_reports_after_the_scan_that_found_it() -> None:
    report = source(prefix="a/", report="daily")
    found, filters = check_filter(report, {}, unix_ms(TAKEN) + 1)
    assert (found.prefix, len(found.notes)) == (None, 1)
    later = source(prefix="a/", report="daily", taken=TAKEN + timedelta(seconds=1))
    assert check_filter(later, filters, unix_ms(TAKEN) + 2_000) == (later, filters)


def test_a_scan_replaces_what_it_includes() -> None:
    part = replace(NOW, prefix="a/", taken=90)
    finer = replace(NOW, thresholds={"BigPrefix": 3}, taken=90)
    later = replace(NOW, taken=110)
    assert add((part, finer, later), NOW) == (finer, later, NOW)
    assert add((part,), UNKNOWN) == (part,)
