"""Decide which findings need an alert, by comparing them with earlier alerts.

An alert is *open* from when its finding is reported until that is gone. A finding is reported when
no alert is open for it (`new`), and again when it has grown by some per cent since the last time
(`worse`); neither within the cooldown, which also silences a finding that comes and goes. All else
is `same`. Each time it is sent to the destinations that the rules name; one that is named later, or
again, gets what is open. A finding that is gone closes its alert (`cleared`); there is no event for
that, but the report shows it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from pyspark.sql import DataFrame

from glue_jobs.columns import schema
from glue_jobs.scanner.coverage import Coverage, Detail, Seen, allow, scan_finder

EVERYONE: Final = ""
"""In `AlertState.to`: all destinations that the rules name when the event is sent."""


class Finding(NamedTuple):
    """What is beyond its threshold: `count` is versions, bytes or sub-folders, by its kind."""

    kind: str
    key: str
    count: int  # type: ignore[assignment]  # a tuple has a method of that name
    versions: int | None
    bytes: int | None


class AlertState(NamedTuple):
    """A finding, or the record of an earlier one; times are Unix ms.

    `count` is what its threshold limits; None if it was not found now. `since` is the time of the
    source that showed it first; a finding that comes back starts anew. `alerted` is the count when
    it was last reported, and `alerted_at` that time. `state` is None for a row that is only kept
    for the next scan. `threshold`, `detail` and `taken` are those of `coverage.Seen`. `told` are
    the destinations of the rules that the open alert was sent to, and `to` those that it is to be
    sent to now.
    """

    kind: str
    key: str
    count: int | None  # type: ignore[assignment]
    versions: int | None
    bytes: int | None
    state: str | None
    since: int | None
    alerted: int
    alerted_at: int
    open: bool
    threshold: int
    detail: Detail
    taken: int
    told: list[str]
    to: list[str]

    @property
    def seen(self) -> Seen | None:
        """How its open alert was seen, None if it is not open."""
        return Seen(self.threshold, self.detail, self.taken) if self.open else None


ALERT_STATES: Final = schema(AlertState)
ALERTED: Final = ("new", "worse")
"""The states that are reported."""
STATES: Final = (*ALERTED, "same", "cleared")


class Rules(Protocol):
    """The bucket's rules."""

    def deliveries(self, finding: Finding) -> Collection[str]:
        """Return the destinations that they name for a finding's event."""


class Comparison(NamedTuple):
    """The scan at the time `at`, in Unix ms, and what it is compared by.

    `worse` is in per cent and `cooldown` in seconds; `named` are the ARNs that rules named as the
    scan began, when the others missed what they were told; `later` are scans of later sources.
    """

    at: int
    worse: int
    cooldown: float
    now: Coverage
    named: Collection[str]
    later: tuple[Coverage, ...] = ()


def compare(
    today: DataFrame, before: DataFrame, scan: Comparison, by_rules: Callable[[], Rules]
) -> DataFrame:
    """Return today's findings and the records to keep, as rows of `ALERT_STATES`.

    `today` has the columns of `Finding`, `before` is the last comparison's result. `by_rules` is
    called by each task.
    """
    pairs = today.join(before, ["kind", "key"], "full_outer")
    states = pairs.rdd.mapPartitions(partial(_decide_all, scan, by_rules))
    return today.sparkSession.createDataFrame(states, ALERT_STATES, verifySchema=False)


def _decide_all(
    scan: Comparison, by_rules: Callable[[], Rules], pairs: Iterable[Sequence[Any]]
) -> Iterator[AlertState]:
    rules, find_later = by_rules(), scan_finder(scan.later)
    for kind, key, count, versions, size, *record in pairs:
        finding = None if count is None else Finding(kind, key, count, versions, size)
        before = None if record[-1] is None else AlertState(kind, key, *record)
        if state := decide(finding, before, scan._replace(later=find_later(key)), rules):
            yield state


def decide(
    finding: Finding | None, before: AlertState | None, scan: Comparison, rules: Rules
) -> AlertState | None:
    """Return the state of a finding, or of what an earlier scan found; None to forget it."""
    kind, key = (finding or before or ("", ""))[:2]
    if before:
        told = [each for each in before.told if each.partition("\n")[0] in scan.named]
        before = before._replace(told=told)
    may = allow(kind, key, scan.now, scan.later, before and before.seen)
    if finding and may.alert:
        return _present(finding, before, scan, rules, may_grow=may.growth)
    return before and _absent(before, scan, rules, is_gone=may.clear)


def _present(
    finding: Finding, before: AlertState | None, scan: Comparison, rules: Rules, *, may_grow: bool
) -> AlertState:
    now, destinations = scan.now, rules.deliveries(finding)
    state = AlertState(
        *finding,
        state="new",
        since=now.taken,
        alerted=finding.count,
        alerted_at=scan.at,
        open=True,
        threshold=now.thresholds[finding.kind],
        detail=now.detail,
        taken=now.taken,
        told=list(destinations),
        to=[EVERYONE] if destinations else [],
    )
    if before is None:
        return state
    if before.state != "cleared" and before.since is not None:
        state = state._replace(since=before.since)
    if before.open:
        state = state._replace(
            state="worse",
            threshold=min(before.threshold, state.threshold),
            detail=max(before.detail, now.detail),
            taken=max(before.taken, now.taken),
        )
    worse = may_grow and _is_worse(finding.count, before.alerted, scan.worse)
    if _is_cooled(before, scan) and (worse or not before.open):
        return state
    more = [each for each in destinations if each not in before.told] if before.open else []
    better_seen = before.open and now.detail > before.detail and not may_grow
    return state._replace(
        state="same",
        alerted=max(before.alerted, finding.count) if better_seen else before.alerted,
        alerted_at=before.alerted_at,
        open=before.open,
        told=state.told if before.open else [],
        to=more,
    )


def _absent(
    before: AlertState, scan: Comparison, rules: Rules, *, is_gone: bool
) -> AlertState | None:
    record = before._replace(count=None, versions=None, bytes=None, state=None, to=[])
    if is_gone:
        return record._replace(state="cleared", open=False, told=[])
    if before.open:
        named = rules.deliveries(Finding(before.kind, before.key, before.alerted, None, None))
        return record._replace(told=[each for each in before.told if each in named])
    if _is_cooled(before, scan):
        return None
    gone = before.state == "cleared" or scan.now.covers(before.kind, before.key)
    return record._replace(since=None) if gone else record


def _is_cooled(before: AlertState, scan: Comparison) -> bool:
    return before.alerted_at <= scan.at - scan.cooldown * 1_000


def _is_worse(count: int, alerted: int, per_cent: int) -> bool:
    return count > alerted and (count - alerted) * 100 >= alerted * per_cent
