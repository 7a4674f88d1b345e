"""The steps of events, read from the trace lines of the logs (`delivery.tracing`)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from bucketcast.delivery.tracing import Dropped, Line, Received
from bucketcast.destination import Destination, TopicArn

RECEIVED: Final = "received"
QUEUED: Final = "queued"
DROPPED: Final = "dropped"


class Step(NamedTuple):
    """One step of an event, which its trace id identifies; `at` is Unix ms.

    Of a try, `number` says which it was, `stage` how far it came, and `pause` in how many seconds
    the next one comes, 0 if none follows.
    """

    at: int
    event: str
    kind: str
    target: str = ""
    rule: str = ""
    reason: str = ""
    number: int = 0
    stage: str = ""
    pause: int = 0


def read_steps(line: Line, begins: str = "") -> Iterator[Step]:
    """Yield the steps of a line for the trace ids that begin with this text."""
    if isinstance(line, Received):
        yield from _received(line, begins)
        return
    if isinstance(line, Dropped):
        is_topic = isinstance(Destination.of(line.target), TopicArn)
        reason = "no such topic, or it has no endpoint" if is_topic else "no such target"
        for event, _, _ in _tries(line.ids, begins):
            yield Step(line.at, event, DROPPED, line.target, reason=reason)
        return
    about = line.target, "", line.reason
    for event, number, pause in _tries(line.ids, begins):
        yield Step(line.at, event, line.result, *about, number, line.stage, pause)


def _received(line: Received, begins: str) -> Iterator[Step]:
    targets: dict[int, list[str]] = {}
    for destination, indexes in line.to.items():
        for index in indexes:
            targets.setdefault(index, []).append(destination)
    for index, event in enumerate(line.ids.split()):
        if not event.startswith(begins):
            continue
        destinations = targets.get(index, [])
        yield Step(line.at, event, RECEIVED, reason="" if destinations else "no rule matches")
        for destination in destinations:
            target, rule = destination.split(" ", 1)
            yield Step(line.at, event, QUEUED, target, rule, f"by rule {rule}")


def _tries(ids: str, begins: str) -> Iterator[tuple[str, int, int]]:
    """Yield each event, which try it was, and the seconds until the next."""
    for text in ids.split():
        if text.startswith(begins):
            event, _, tried = text.partition("#")
            number, _, pause = tried.partition("+")
            yield event, int(number or 1), int(pause or 0)


def rank(kind: str) -> int:
    """Return the rank of a step of this kind in an event's way: later steps have higher ones."""
    return {RECEIVED: 0, QUEUED: 1, DROPPED: 1}.get(kind, 2)
