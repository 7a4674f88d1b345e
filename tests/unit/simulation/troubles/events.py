"""The rows of "an event" and of "a partition": a day of a target of which a part gives trouble."""

from functools import partial
from math import ceil, log2
from zlib import crc32

from bucketcast.limits import CRASHED_RECEIVES
from tests.unit.simulation.delivering import Delivering
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Brokers, Table, Webhook
from tests.unit.simulation.troubles.scenes import Kind, Troubled

THREE, TEN = ([f"bad{number}" for number in range(size)] for size in (3, 10))
FEW = 5
"""Events in the message of one that holds up its message: under a hundredth of the day's."""
REPEATS = (CRASHED_RECEIVES + 1) * ceil(log2(FEW + 1))
"""Of an event beside one with which the function ends: until they are in two messages."""
QUIET_DAYS = 11
"""From the end of the first day to the last one before its events are given up."""
RARE = 15
"""Seconds between two events, so that a silence may be the target's: over `QUIET_SECONDS`."""
STEP = 10 * MINUTE
MANY = 1_000
"""More messages than could wait."""
PARTITIONS = 10
TROUBLED = 4 * HOUR
"""How long a partition is in trouble, from the beginning."""


def of_an_event(
    kind: Kind, answer: Answer, *, beside: int = 99, opened: bool = False, rare: bool = False
) -> Seen:
    """Play a day with three events that get this answer, each with others in its message.

    Or they end the function when they are `opened`. Then let them come to their end. If others are
    `rare`, the target took none just before, and ten get this answer.
    """
    bad_keys = TEN if rare else THREE
    one = Troubled(
        kind,
        lambda key, _: answer if key in bad_keys else Answer.TAKEN,
        kills=lambda key: opened and key in bad_keys,
    )
    todo = _puts(one)
    if rare:
        todo = {at: partial(one.put, f"{at}") for at in range(0, HOUR, RARE)}
    for number, bad in enumerate(bad_keys):
        neighbours = [f"{bad}-{each}" for each in range(beside)]
        half = beside // 2
        todo[number * (MINUTE if rare else 5 * MINUTE) + 0.5] = partial(
            one.put, *neighbours[:half], bad, *neighbours[half:]
        )
    _run(one, todo)
    bad_names = {f"{bad} rule" for bad in bad_keys}
    tries = max(one.target.tried[name] for name in bad_names)
    dollars = one.dollars() / 24
    faults = _end(one)
    if buried := [name for name in one.letters() if name not in bad_names]:
        faults.append(f"{len(buried)} neighbours were dead-lettered")
    return Seen(
        one.delays(name for name in one.sent if name not in bad_names),
        tries=tries,
        dollars=dollars,
        dead=one.dead_by_reason(),
        faults=(*one.faults(REPEATS if answer is Answer.CRASH else 1), *faults),
    )


def in_order() -> Seen:
    """Play a day of a webhook in order, which answers 404 to 15 events one after another."""
    bad = [f"bad{number}" for number in range(15)]
    one = Troubled(Webhook, lambda key, _: Answer.ROW if key in bad else Answer.TAKEN, fifo=True)
    todo = {MINUTE + at / 60: partial(one.put, key) for at, key in enumerate(bad, 1)}
    one.simulation.run(days=1, actions=_puts(one) | todo)
    return Seen(
        one.delays(name for name in one.sent if not name.startswith("bad")),
        tries=max(one.target.tried[f"{key} rule"] for key in bad),
        dollars=one.dollars() / 24,
        dead=one.dead_by_reason(),
        faults=one.faults(),
    )


def _run(one: Delivering, todo: Actions) -> None:
    """Play a day, unless its messages multiply."""
    for step in range(round(DAY / STEP)):
        begin = step * STEP
        part = {at - begin: act for at, act in todo.items() if begin <= at < begin + STEP}
        one.simulation.run(days=STEP / DAY, actions=part)
        if len(one.queue.messages) > MANY:
            return


def _end(one: Delivering) -> list[str]:
    """Let all come to its end; return what is wrong with that.

    Meanwhile nothing is called until the last days, as each of them would be like the first.
    """
    workers = one.function.max_concurrency
    for days, calls in ((QUIET_DAYS, 0), (1, workers), (1, workers)):
        if len(one.queue.messages) > MANY:
            return ["messages multiply"]
        if not one.queue.messages:
            return []
        one.function.max_concurrency = calls
        one.simulation.run(days=days)
    return ["events still wait"] if one.queue.messages else []


def of_a_partition(kind: Kind, answer: Answer) -> Seen:
    """Play a day with hours in which the events of one partition in ten get this answer."""

    def is_in_it(key: str) -> bool:
        return crc32(key.encode()) % PARTITIONS == 0

    one = Troubled(
        kind,
        lambda key, now: answer if now < TROUBLED and is_in_it(key) else Answer.TAKEN,
    )
    one.simulation.run(days=1, actions=_puts(one))
    others = {name for name in one.sent if not is_in_it(name.removesuffix(" rule"))}
    its = one.sent.keys() - others
    start = one.simulation.clock.now - DAY
    waited = [name for name in its if one.put_at[name] < start + TROUBLED]
    return Seen(
        one.delays(others),
        tries=max(one.target.tried[name] for name in its) * DAY / TROUBLED,
        dollars=one.dollars() / 24,
        dead=one.dead_by_reason(),
        back=max(one.target.taken_at.get(name, 0.0) for name in waited) - start - TROUBLED,
        faults=one.faults(),
    )


def _puts(one: Delivering) -> Actions:
    """Return an event a second for a quarter of an hour, and one a minute for the day's rest."""
    times = [*range(15 * MINUTE), *range(15 * MINUTE, DAY - HOUR, MINUTE)]
    return {at: partial(one.put, f"{at}") for at in times}


def _event(  # noqa: PLR0913 - what a cell of an event is made of
    when: str,
    kind: Kind,
    answer: Answer,
    reason: str,
    *,
    tries: float = 60,
    beside: int = 99,
    opened: bool = False,
) -> Cell:
    play = partial(of_an_event, kind, answer, beside=beside, opened=opened)
    return Cell("an event", when, play, Bounds(tries=tries, dead=(3, 3), reason=reason))


def _partition(when: str, kind: Kind, answer: Answer) -> Cell:
    return Cell("a partition", when, partial(of_a_partition, kind, answer), Bounds(back=HOUR))


_DIES = "the function of a {} dies when it sends it"

CELLS = (
    _event("a webhook never answers it", Webhook, Answer.SILENT, "timed out"),
    _event("a database never answers it", Table, Answer.SILENT, "timeout", beside=FEW),
    Cell(
        "an event",
        "a database never answers ten of them",
        partial(of_an_event, Table, Answer.SILENT, beside=0, rare=True),
        Bounds(tries=60, dead=(10, 10), reason="timeout"),
    ),
    _event("a webhook refuses it", Webhook, Answer.REFUSED, "answered 422", tries=1),
    _event("a database refuses it", Table, Answer.REFUSED, "Unicode escape"),
    _event(_DIES.format("webhook"), Webhook, Answer.CRASH, "function", beside=FEW),
    _event(_DIES.format("database"), Table, Answer.CRASH, "function", beside=FEW),
    _event(
        "the function dies when it opens its message",
        Webhook,
        Answer.TAKEN,
        "function",
        beside=0,
        opened=True,
    ),
    _event("it is larger than a webhook takes", Webhook, Answer.TOO_LARGE, "answered 413"),
    Cell(
        "an event",
        "in order, a webhook answers 404 to 15",
        in_order,
        Bounds(p99=2 * HOUR, tries=60, dead=(15, 15), reason="404"),
    ),
    _event("its row is locked", Table, Answer.LOCKED, "lock"),
    _partition("it has no leader", Brokers, Answer.LEADERLESS),
    _partition("it takes no writes", Brokers, Answer.READ_ONLY),
    _partition("its rows are locked", Table, Answer.LOCKED),
    _partition("it is a hundred times slower", Brokers, Answer.SLOW),
)
