"""The steps of events, read from the trace lines of the logs (`delivery.tracing`)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from bucketcast.delivery.tracing import Dropped, Line, Received
from bucketcast.destination import Destination, TopicArn

RECEIVED: Final = "received"
QUEUED: Final = "queued"
DROPPED: Final = "dropped"


class Step(NamedTuple):
    """One step of an event, which its trace id identifies; `at` is Unix ms."""

    at: int
    event: str
    kind: str
    target: str = ""
    rule: str = ""
    reason: str = ""


def read_steps(at: int, line: Line, begins: str = "") -> Iterator[Step]:
    """Yield the steps of a line for the trace ids that begin with this text."""
    if isinstance(line, Received):
        yield from _received(at, line, begins)
        return
    if isinstance(line, Dropped):
        is_topic = isinstance(Destination.of(line.target), TopicArn)
        reason = "no such topic, or it has no endpoint" if is_topic else "no such target"
        for event in _ids(line.ids, begins):
            yield Step(at, event, DROPPED, line.target, reason=reason)
        return
    for event in _ids(line.delivered, begins):
        yield Step(at, event, "delivered", line.target)
    for kind, by_reason in (("retried", line.retried), ("dead", line.dead)):
        for reason, ids in by_reason.items():
            for event in _ids(ids, begins):
                yield Step(at, event, kind, line.target, reason=reason)


def _received(at: int, line: Received, begins: str) -> Iterator[Step]:
    targets: dict[int, list[str]] = {}
    for destination, indexes in line.to.items():
        for index in indexes:
            targets.setdefault(index, []).append(destination)
    for index, event in enumerate(line.ids.split()):
        if not event.startswith(begins):
            continue
        destinations = targets.get(index, [])
        yield Step(at, event, RECEIVED, reason="" if destinations else "no rule matches")
        for destination in destinations:
            target, rule = destination.split(" ", 1)
            yield Step(at, event, QUEUED, target, rule, f"by rule {rule}")


def _ids(ids: str, begins: str) -> Iterator[str]:
    return (event for event in ids.split() if event.startswith(begins))


def rank(kind: str) -> int:
    """Return the rank of a step of this kind in an event's way: later steps have higher ones."""
    return {RECEIVED: 0, QUEUED: 1, DROPPED: 1}.get(kind, 2)
