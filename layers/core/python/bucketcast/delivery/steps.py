"""The steps of events, read from the trace lines of the logs (`delivery.tracing`)."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from bucketcast.delivery.tracing import Line, Received

RECEIVED: Final = "received"
QUEUED: Final = "queued"
_KEPT: Final = 200_000


class Step(NamedTuple):
    """One step of an event, which its trace id identifies.

    `at` is Unix ms. `bucket` is its hash (`tracing.of_bucket`), "" if it is not known.
    """

    at: int
    event: str
    what: str
    target: str = ""
    rule: str = ""
    why: str = ""
    bucket: str = ""


def clock(at: int) -> str:
    """Return Unix ms as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def of(at: int, line: Line, begins: str = "") -> Iterator[Step]:
    """Yield the steps of a line, of trace ids that begin so."""
    if isinstance(line, Received):
        yield from _received(at, line, begins)
        return
    for event in _ids(line.delivered, begins):
        yield Step(at, event, "delivered", line.target)
    for what, by_reason in (("retried", line.retried), ("dead", line.dead)):
        for reason, ids in by_reason.items():
            for event in _ids(ids, begins):
                yield Step(at, event, what, line.target, why=reason)


def _received(at: int, line: Received, begins: str) -> Iterator[Step]:
    targets: dict[int, list[str]] = {}
    for to, indexes in line.to.items():
        for index in indexes:
            targets.setdefault(index, []).append(to)
    buckets = {index: name for name, indexes in line.buckets.items() for index in indexes}
    only = next((name for name, indexes in line.buckets.items() if not indexes), "")
    for index, event in enumerate(line.ids.split()):
        if not event.startswith(begins):
            continue
        bucket, sent = buckets.get(index, only), targets.get(index, [])
        yield Step(at, event, RECEIVED, why="" if sent else "no rule matches", bucket=bucket)
        for to in sent:
            target, rule = to.split(" ", 1)
            yield Step(at, event, QUEUED, target, rule, f"by rule {rule}", bucket)


def _ids(ids: str, begins: str) -> Iterator[str]:
    return (event for event in ids.split() if event.startswith(begins))


class Stream:
    """Steps as they appear, each with the bucket that the event's first line states.

    A target's function may log before ingest does: such a step waits for its bucket, a minute if
    that decides whether it is shown. `bucket` and `target` select, "" is all.
    """

    def __init__(self, bucket: str = "", target: str = "") -> None:
        self._timeout_ms = 60_000 if bucket else 5_000
        self._bucket = bucket
        self._target = target
        self._buckets: OrderedDict[str, str] = OrderedDict()
        self._waiting: list[Step] = []

    def __call__(self, steps: Iterable[Step], now: int) -> list[Step]:
        """Return the steps to show, ordered by time; `now` is Unix ms."""
        new = list(steps)
        self.learn(new)
        found = [self._with_bucket(step) for step in (*self._waiting, *new)]
        shown: list[Step] = []
        self._waiting = []
        for step in found:
            waits = not step.bucket and now - step.at < self._timeout_ms
            (self._waiting if waits else shown).append(step)
        return sorted((each for each in shown if self._selects(each)), key=order)

    def learn(self, steps: Iterable[Step]) -> None:
        """Remember the buckets of these events."""
        for step in steps:
            if step.bucket:
                self._buckets[step.event] = step.bucket
        while len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)

    def _with_bucket(self, step: Step) -> Step:
        return step._replace(bucket=step.bucket or self._buckets.get(step.event, ""))

    def _selects(self, step: Step) -> bool:
        return self._bucket in ("", step.bucket) and self._target in ("", step.target)


def order(step: Step) -> tuple[int, int]:
    """Return what steps are ordered by: time, then stage."""
    return step.at, stage(step.what)


def stage(what: str) -> int:
    """Return how far an event is after such a step."""
    return {RECEIVED: 0, QUEUED: 1}.get(what, 2)
