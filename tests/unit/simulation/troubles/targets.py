"""The rows of "a target": a day of two targets, one of which is in trouble for hours."""

from collections.abc import Sequence
from functools import partial
from math import inf
from operator import sub
from typing import NamedTuple
from zlib import crc32

from bucketcast.limits import UNTRUSTED_REFUSALS
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.lambdas import Delays
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Behaviour, Table, Webhook
from tests.unit.simulation.troubles.scenes import Kind, Troubled

TROUBLES = tuple(
    (begin * HOUR, (begin + 1) * HOUR + more) for begin, more in ((1, 0), (4, 17), (7, 41))
)
"""When troubles begin and end, in seconds of the day: at other moments between two tries."""
EVERY = MINUTE
"""Seconds between two events of each target."""
BURST = 300
"""Events that come at once when a trouble begins."""


class _Used(NamedTuple):
    """What one target has cost so far."""

    tries: int
    dollars: float


def _used(one: Troubled) -> _Used:
    return _Used(one.target.tried.total(), one.dollars())


def of_a_target(
    kind: Kind,
    behaviour: Behaviour,
    troubles: Sequence[tuple[float, float]] = TROUBLES,
    *,
    cold: bool = False,
    fifo: bool = False,
) -> Seen:
    """Play a day of a target that behaves so during `troubles`, and of one beside it.

    `cold`: no events come at once, and each is for a new function. `fifo`: they are in order.
    """

    def behaves(key: str, now: float) -> Answer:
        is_troubled = any(begin <= now < end for begin, end in troubles)
        return behaviour(key, now) if is_troubled else Answer.TAKEN

    one = Troubled(kind, behaves, fifo=fifo)
    well = Troubled(kind, lambda *_: Answer.TAKEN, beside=one.simulation, name="well")
    used: list[_Used] = []
    todo: Actions = {}
    for at in range(0, round(troubles[-1][1]) + HOUR, EVERY):
        todo[at], todo[at + 0.5] = partial(one.put, f"{at}"), partial(well.put, f"{at}")
        if cold:
            todo[at + EVERY - 1] = one.function.idle.clear
    for begin, end in troubles:
        if not cold:
            todo[begin + 1] = partial(one.put, *(f"{begin}-{each}" for each in range(BURST)))
        todo[begin - 0.01] = todo[end - 0.01] = lambda: used.append(_used(one))
    one.simulation.run(days=1, actions=todo)
    hours = sum(end - begin for begin, end in troubles) / HOUR
    tries, dollars = _spent(used)
    return Seen(
        well.delays(well.sent),
        tries=tries / hours * 24,
        dollars=dollars / hours,
        dead=one.dead_by_reason(),
        back=max(_back(one, begin, end) for begin, end in troubles),
        faults=one.faults() + well.faults(),
    )


def _spent(used: Sequence[_Used]) -> list[float]:
    """Return the sums of what was used between each two looks, as at the ends of troubles."""
    borders = zip(used[::2], used[1::2], strict=True)
    changes = [map(sub, after, before) for before, after in borders]
    return [sum(column) for column in zip(*changes, strict=True)]


def _back(one: Troubled, begin: float, end: float) -> float:
    """Return how long after a trouble half of the events had come that waited for its end."""
    start = one.simulation.clock.now - DAY
    taken = one.target.taken_at
    waited = [taken.get(name, inf) for name, at in one.put_at.items() if begin <= at - start < end]
    return max(0.0, Delays.of(waited).p50 - start - end)


_BACK = Bounds(back=60)
_PROBED = Bounds(tries=4 * DAY / MINUTE, dollars=0.5 / 24, back=60)
"""Of a target to which each of four functions sends one event a minute."""


def _always(answer: Answer) -> Behaviour:
    return lambda *_: answer


def _every_second(key: str, now: float) -> Answer:
    return Answer.BUSY if crc32(f"{key}{now}".encode()) % 2 else Answer.TAKEN


def _each_minute(_key: str, now: float) -> Answer:
    return Answer.DOWN if now // MINUTE % 2 else Answer.TAKEN


def _cell(when: str, answer: Answer, kind: Kind = Webhook, bounds: Bounds = _BACK) -> Cell:
    return Cell("a target", when, partial(of_a_target, kind, _always(answer)), bounds)


def _refusing(when: str, kind: Kind, answer: Answer, reason: str) -> Cell:
    play = partial(of_a_target, kind, _always(answer), [(0, HOUR)], cold=True)
    bounds = Bounds(tries=DAY, back=60, dead=(0, UNTRUSTED_REFUSALS), reason=reason)
    return Cell("a target", when, play, bounds)


CELLS = (
    _cell("it is down", Answer.DOWN),
    _cell("it is frozen", Answer.SILENT, bounds=_PROBED),
    _cell("it is a hundred times slower", Answer.SLOW),
    _cell("it refuses the login", Answer.LOGIN, bounds=_PROBED),
    _cell("it throttles: each answer is 429, with a pause", Answer.THROTTLED),
    _cell("each answer is 503", Answer.BUSY, bounds=Bounds(tries=DAY, back=60)),
    _cell("each answer is 404", Answer.ROW, bounds=Bounds(tries=DAY, back=60)),
    Cell(
        "a target",
        "in order, each answer is 404, for three hours",
        partial(
            of_a_target, Webhook, _always(Answer.ROW), [(HOUR, 4 * HOUR)], cold=True, fifo=True
        ),
        Bounds(tries=DAY, back=22 * MINUTE, dead=(0, UNTRUSTED_REFUSALS), reason="404"),
    ),
    _refusing("each answer is 422, since it was set up", Webhook, Answer.REFUSED, "422"),
    _refusing(
        "a database refuses each row, since it was set up", Table, Answer.REFUSED, "Unicode escape"
    ),
    _refusing("a check refuses each row, since it was set up", Table, Answer.ROW, ""),
    _cell("a database is down", Answer.DOWN, Table),
    _cell("a database is frozen", Answer.SILENT, Table),
    _cell("a database takes no writes", Answer.READ_ONLY, Table),
    Cell(
        "a target",
        "every second answer is 503",
        partial(of_a_target, Webhook, _every_second),
        _BACK,
    ),
    Cell(
        "a target",
        "it is down every second minute",
        partial(of_a_target, Webhook, _each_minute),
        _BACK,
    ),
)
