"""The steps of events, read from the trace lines of the logs (`delivery.tracing`)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from bucketcast.delivery.tracing import Dropped, Line, Received

RECEIVED: Final = "received"
QUEUED: Final = "queued"
NOT_DEPLOYED: Final = "not deployed"


class Step(NamedTuple):
    """One step of an event, which its trace id identifies; `at` is Unix ms."""

    at: int
    event: str
    what: str
    target: str = ""
    rule: str = ""
    why: str = ""


def clock(at: int) -> str:
    """Return Unix ms as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def of(at: int, line: Line, begins: str = "") -> Iterator[Step]:
    """Yield the steps of a line, of trace ids that begin so."""
    if isinstance(line, Received):
        yield from _received(at, line, begins)
        return
    if isinstance(line, Dropped):
        for event in _ids(line.ids, begins):
            yield Step(at, event, NOT_DEPLOYED, line.target, why="the event was dropped")
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
    for index, event in enumerate(line.ids.split()):
        if not event.startswith(begins):
            continue
        sent = targets.get(index, [])
        yield Step(at, event, RECEIVED, why="" if sent else "no rule matches")
        for to in sent:
            target, rule = to.split(" ", 1)
            yield Step(at, event, QUEUED, target, rule, f"by rule {rule}")


def _ids(ids: str, begins: str) -> Iterator[str]:
    return (event for event in ids.split() if event.startswith(begins))


def stage(what: str) -> int:
    """Return how far an event is after such a step."""
    return {RECEIVED: 0, QUEUED: 1, NOT_DEPLOYED: 1}.get(what, 2)
