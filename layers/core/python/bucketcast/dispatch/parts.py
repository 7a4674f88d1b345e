"""How the events that failed are put into the messages that go back.

What was not delivered because the target does not answer is put together, of however many messages
it is: each message that waits is received again and again, and an outage that finds ten thousand of
them soon has a few. Only such go together whose terms began within an hour, so that none is given
up more than that too early.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from bucketcast.dispatch.breaker import is_silence
from bucketcast.dispatch.history import history, together
from bucketcast.dispatch.messages import Back, Open
from bucketcast.dispatch.outcome import NotTried
from bucketcast.errors import DeliveryError
from bucketcast.retries import Term

_HOUR_MS = 3_600_000


class Part(NamedTuple):
    """A message that goes back, and the messages that its events are of."""

    back: Back
    of: Sequence[Open]


class Pause(Protocol):
    """Seconds until the next try of an event that failed so."""

    def __call__(self, term: Term, error: DeliveryError, *, tried: bool) -> int: ...


def parts(failed: Sequence[Open], pause: Pause) -> list[Part]:
    """What goes back; a message of which nothing does is to stay.

    It stays where that says all there is to say: it failed as a whole, for no reason that it does
    not have with it, and is alone.
    """
    found: list[Part] = []
    silent: dict[int, list[tuple[Open, list[int]]]] = {}
    for one in failed:
        places = [place for place, error in sorted(one.failures.items()) if _is_silent(error)]
        if places:
            silent.setdefault(one.term.begun // _HOUR_MS, []).append((one, places))
        found += _others(one, pause)
    for group in silent.values():
        (first, places), *more = group
        if more or not (first.envelope.reason and len(places) == len(first.deliveries)):
            found.append(_put_together(group, pause))
    return found


def _others(one: Open, pause: Pause) -> Iterator[Part]:
    """The parts of a message that did not fail for want of an answer."""
    others = {place for place, error in one.failures.items() if not _is_silent(error)}
    tried = sorted(others & one.tried)
    without_turn = sorted(others - one.tried)
    if len(others) == len(one.deliveries) and (one.envelope.reason or not tried):
        return
    for places in (tried, without_turn):
        if not places:
            continue
        error = one.failures[places[0]] if places is tried else None
        wait = max(pause(one.term, one.failures[n], tried=places is tried) for n in places)
        part = [one.deliveries[place] for place in places]
        yield Part(Back(part, history(one.envelope, one.term, error), wait), [one])


def _put_together(group: Sequence[tuple[Open, list[int]]], pause: Pause) -> Part:
    of = [one for one, _ in group]
    error = next(one.failures[place] for one, places in group for place in places)
    events = [one.deliveries[place] for one, places in group for place in places]
    wait = max(pause(one.term, error, tried=True) for one in of)
    return Part(Back(events, together(of, error), wait), of)


def _is_silent(error: DeliveryError) -> bool:
    return isinstance(error, NotTried) or is_silence(error)
