"""The messages that carry failed events back to the queue.

Events that were not delivered because the target does not answer are merged, from however many
messages: each waiting message is received again and again, and so ten thousand of them soon become
a few. Only messages whose terms began within an hour are merged, so that no event is given up more
than an hour early.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from bucketcast.delivery.retries import Term
from bucketcast.dispatch.attempts import history, merged
from bucketcast.dispatch.breaker import is_unreachable
from bucketcast.dispatch.messages import OpenMessage, Requeue
from bucketcast.dispatch.outcome import BreakerOpen
from bucketcast.errors import DeliveryError

_HOUR_MS = 3_600_000


class Part(NamedTuple):
    """A message to requeue, and the messages that its events came in."""

    back: Requeue
    of: Sequence[OpenMessage]


class Pause(Protocol):
    """Return the seconds until the next try of an event that failed with this error."""

    def __call__(self, term: Term, error: DeliveryError, *, tried: bool) -> int: ...


def parts(failed: Sequence[OpenMessage], pause: Pause) -> list[Part]:
    """Return what to requeue; a message with no part in it stays in the queue.

    It stays if it would be replaced by itself: all its events failed, its envelope already has the
    reason, and there is nothing to merge it with.
    """
    found: list[Part] = []
    silent: dict[int, list[tuple[OpenMessage, list[int]]]] = {}
    for one in failed:
        indexes = [index for index, error in sorted(one.failures.items()) if _is_silent(error)]
        if indexes:
            silent.setdefault(one.term.started // _HOUR_MS, []).append((one, indexes))
        found += _others(one, pause)
    for group in silent.values():
        (first, indexes), *more = group
        if more or not first.envelope.reason or len(indexes) < len(first.deliveries):
            found.append(_put_together(group, pause))
    return found


def _others(one: OpenMessage, pause: Pause) -> Iterator[Part]:
    """Yield the parts of a message that failed for another reason than a missing answer."""
    others = {index for index, error in one.failures.items() if not _is_silent(error)}
    tried = sorted(others & one.tried)
    without_turn = sorted(others - one.tried)
    if len(others) == len(one.deliveries) and (one.envelope.reason or not tried):
        return
    for indexes in (tried, without_turn):
        if not indexes:
            continue
        error = one.failures[indexes[0]] if indexes is tried else None
        wait = max(pause(one.term, one.failures[n], tried=indexes is tried) for n in indexes)
        part = [one.deliveries[index] for index in indexes]
        yield Part(Requeue(part, history(one.envelope, one.term, error), wait), [one])


def _put_together(group: Sequence[tuple[OpenMessage, list[int]]], pause: Pause) -> Part:
    of = [one for one, _ in group]
    error = next(one.failures[index] for one, indexes in group for index in indexes)
    events = [one.deliveries[index] for one, indexes in group for index in indexes]
    wait = max(pause(one.term, error, tried=True) for one in of)
    return Part(Requeue(events, merged(of, error), wait), of)


def _is_silent(error: DeliveryError) -> bool:
    return isinstance(error, BreakerOpen) or is_unreachable(error)
