"""Findings are alerted or not, by comparison with earlier alerts."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pytest

from glue_jobs.listing.schema import Listing, unix_ms
from glue_jobs.scanner import alert_states
from glue_jobs.scanner.alert_states import (
    EVERYONE,
    AlertState,
    Comparison,
    Finding,
    decide,
)
from glue_jobs.scanner.coverage import Coverage, Filter, add, check_filter
from tests.glue import oracle
from tests.glue.inventories import Row

NO_ROWS: Any = None
NOW: Final = 1_772_366_400_000
HOUR: Final = 3_600_000
DESTINATIONS: Final = ("first", "second\nown copy", "third")
States = dict[tuple[str, str], AlertState]


class Named(NamedTuple):
    """Rules that name destinations for all findings."""

    names: Collection[str] = ("first",)

    def deliveries(self, _: Finding) -> Collection[str]:
        return self.names


def next_states(
    found: Iterable[Finding],
    past: States,
    scan: Comparison,
    rules: Named = Named(),  # noqa: B008
) -> States:
    """Decide on each finding of now or of the past."""
    today = {finding[:2]: finding for finding in found}
    keys = sorted({*today, *past})
    states = ((key, decide(today.get(key), past.get(key), scan, rules)) for key in keys)
    return {key: state for key, state in states if state}


def comparison(hour: int = 0, prefix: str = "", cooldown: float = 0) -> Comparison:
    at = NOW + hour * HOUR
    now = Coverage(prefix, at, versions=True, thresholds={"ManyVersions": 0})
    return Comparison(at, 10, cooldown, now, DESTINATIONS)


def many(**counts: int) -> list[Finding]:
    return [Finding("ManyVersions", key, count, count, count) for key, count in counts.items()]


def test_each_finding_is_compared_with_its_last_alert() -> None:
    most = 2**63 - 1
    past = next_states(
        many(as_before=100, less=100, by_9_9=1_000, by_10=1_000, gone=9, huge=most // 2),
        {},
        comparison(),
    )
    now = many(first=5, as_before=100, less=90, by_9_9=1_099, by_10=1_100, huge=most)
    result = next_states(now, past, comparison(1))
    assert {key: (row.state, row.to) for (_, key), row in result.items()} == {
        "first": ("new", [EVERYONE]),
        "as_before": ("same", []),
        "less": ("same", []),
        "by_9_9": ("same", []),
        "by_10": ("worse", [EVERYONE]),
        "gone": ("cleared", []),
        "huge": ("worse", [EVERYONE]),
    }
    rows = {key: row for (_, key), row in result.items()}
    assert [rows[key].alerted for key in ("first", "less", "by_10")] == [5, 100, 1_100]
    assert rows["by_10"].alerted_at - rows["less"].alerted_at == HOUR
    assert [key for key, row in rows.items() if not row.open] == ["gone"]


def test_states_and_first_times_follow_from_scan_to_scan() -> None:
    past = next_states(many(**{"a/slow": 1_000}), {}, comparison(-9))
    past |= next_states(many(**{"a/flaps": 100, "a/gone": 100}), {}, comparison(-1))
    scans = [
        ({"a/slow": 1_060, "a/goes": 5, "b/unseen": 5}, ""),
        ({"a/slow": 1_120, "a/flaps": 100}, "a/"),
        ({"a/slow": 1_300, "a/goes": 5, "b/unseen": 5}, ""),
        ({"a/slow": 1_300, "a/flaps": 101}, ""),
        ({"a/slow": 1_300, "a/flaps": 101}, ""),
    ]
    found = []
    for hour, (counts, prefix) in enumerate(scans):
        past = next_states(many(**counts), past, comparison(hour, prefix, 4 * 3_600))
        found.append({key: (row.state, hours(row.since)) for (_, key), row in past.items()})

    slow = [scan["a/slow"] for scan in found]
    assert [state for state, _ in slow] == ["same", "worse", "same", "same", "same"], (
        "growth counts from the last alert"
    )
    assert {since for _, since in slow} == {-9}
    assert [scan.get("a/flaps") for scan in found] == [
        ("cleared", -1),
        ("same", 1),
        (None, None),
        ("new", 3),
        ("same", 3),
    ], "no alert within the cooldown"
    assert [scan["a/goes"] for scan in found[:3]] == [("new", 0), ("cleared", 0), ("same", 2)]
    assert [scan["b/unseen"] for scan in found[:3]] == [("new", 0), (None, 0), ("same", 0)]
    assert found[0]["a/gone"] == ("cleared", -1)
    assert "a/gone" not in found[-1], "its record is no longer needed"


def test_a_finding_is_compared_with_the_later_scans_of_its_key_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = tuple(comparison(9, prefix=f"{nth % 999}/").now for nth in range(1_000 + 7))
    compared: list[Sequence[Coverage]] = []
    monkeypatch.setattr(alert_states, "decide", lambda *given: compared.append(given[2].later))
    pairs = [(*finding, *[None] * 10) for finding in many(**{"7/a": 3})]
    assert not list(alert_states._decide_all(comparison()._replace(later=later), Named, pairs))
    assert compared == [(later[7], later[999 + 7])]


def hours(since: int | None) -> int | None:
    return None if since is None else (since - NOW) // HOUR


KEYS: Final = ("a/1", "a/x/1", "a/y/2", "a/y/z/1", "a/z/1", "b/1", "b/x/1", "b/x/y/1", "c/d/1")
REACHES: Final = ("", "a/", "b/", "a/y")
LEAST: Final = {"ManyVersions": 1, "LargeVersions": 2, "BigPrefix": 0}


def test_an_unchanged_bucket_is_alerted_once_for_each_rule_and_never_cleared() -> None:
    for seed in range(2_000):
        follow(seed)


def follow(seed: int) -> None:
    """Scan with any options, sources and rules; then see all, for all rules."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    content = [
        Row("b", key, str(nth), nth == 0, draw.random() < 0.4)
        for key in KEYS
        for nth in range(draw.randint(0, 5))
    ]
    earlier: tuple[Coverage, ...] = ()
    states: States = {}
    sent: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    reports = Reports(draw)
    for at in range(10, 80, 10):
        reports.make(at - 5)
        now, reach = random_scan(draw, at, reports)
        named = draw.sample(DESTINATIONS, draw.randint(0, 3))
        if at == 70:
            now = Coverage("", 1_000, versions=True, thresholds=LEAST)
            reach, named = "", list(DESTINATIONS)
        later = tuple(each for each in earlier if each.taken > now.taken)
        first = draw.sample(DESTINATIONS, draw.randint(0, 3))  # named as the scan began
        arns = [each.partition("\n")[0] for each in first]
        scan = Comparison(at, draw.choice((0, 10)), draw.choice((0, 9e9)), now, arns, later)
        found = findings(content, now, reach)
        states = next_states(found, states, scan, Named(named))
        earlier = add(earlier, now)
        for key, state in states.items():
            assert state.state != "cleared", (seed, at, state)
            to = {*named} if state.to == [EVERYONE] else {*state.to}
            sent[key] &= {*first} & {*named}  # a rule that is added again gets all again
            assert not sent[key] & to, (seed, at, state)
            sent[key] |= to
    assert sent == {each[:2]: {*DESTINATIONS} for each in found}, seed


class Reports:
    """A configuration of reports, whose filter changes."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._filter = ""
        self._made: list[tuple[int, str]] = []
        self._found: Mapping[str, Filter] = {}

    def make(self, at: int) -> None:
        """Change the filter perhaps, and make a report.

        A filter that comes back before a scan has seen the other one would not be noticed.
        """
        seen = [each.prefix for each in self._found.values()]
        others = [each for each in REACHES if each not in seen]
        self._filter = self._draw.choice([self._filter, *others])
        self._made.append((at, self._filter))

    def read(self, at: int) -> tuple[Listing, str]:
        """Return a report as a scan sees it, and the filter that it was made by."""
        taken, reach = self._draw.choice(self._made)
        now = None if self._draw.random() < 0.1 else self._filter
        time = datetime.fromtimestamp(taken / 1_000, UTC)
        content = Listing(
            NO_ROWS, versions=True, taken=time, name="a report", prefix=now, report="daily"
        )
        content, self._found = check_filter(content, self._found, at)
        assert content.prefix in (reach, None)
        return content, reach


def random_scan(draw: random.Random, at: int, reports: Reports) -> tuple[Coverage, str]:
    """Return what a scan covers, and the prefix of its source."""
    reach, taken = draw.choice(REACHES), at - draw.choice((0, 25))
    prefix: str | None = reach
    if draw.random() < 0.6:
        content, reach = reports.read(at)
        prefix, taken = content.prefix, unix_ms(content.taken)
    thresholds = {kind: least + draw.randint(0, 2) for kind, least in LEAST.items()}
    versions = draw.random() < 0.6
    if draw.random() < 0.2:
        del thresholds["LargeVersions"]
    if not versions:
        thresholds = {"BigPrefix": thresholds["BigPrefix"]}
    return Coverage(prefix, taken, versions, thresholds), reach


def findings(bucket: Sequence[Row], now: Coverage, reach: str) -> list[Finding]:
    """Count rows in the plainest way."""
    rows = [
        row
        for row in bucket
        if row.key.startswith(reach)
        and (now.versions or (row.is_latest and not row.is_delete_marker))
    ]
    found = [
        Finding("BigPrefix", key, len(names), None, None)
        for key, names in oracle.folders(rows).items()
    ]
    for key, (number, size) in oracle.versions(rows).items():
        found += [
            Finding("ManyVersions", key, number, number, size),
            Finding("LargeVersions", key, size + 1, number, size),
        ]
    limits = now.thresholds
    return [each for each in found if each.kind in limits and each.count > limits[each.kind]]
