"""A cell of the table "Whose trouble is it?": a trouble, how it is played, and its bounds."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf

from bucketcast.cost.prices import prices
from bucketcast.limits import MEMORY_MB
from tests.unit.simulation.lambdas import Delays, Function, Simulation
from tests.unit.simulation.quiet import quiet


@dataclass(frozen=True)
class Seen:
    """What a simulation showed.

    `others` are the seconds that events waited which have no part in the trouble. `tries` are those
    of the troubled in a day, `dollars` an hour's. `dead` counts the dead letters by their reason.
    `back` is how many seconds after the end of the trouble its events came. `faults` say what else
    was wrong: events that were lost, or repeated.
    """

    others: Delays
    tries: float = 0
    dollars: float = 0
    dead: Counter[str] = field(default_factory=Counter)
    back: float = 0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bounds:
    """The most of each that is allowed; `dead` is the least and the most of dead letters.

    `reason` is a part of the reason of each dead letter.
    """

    p99: float = 5
    tries: float = inf
    dollars: float = inf
    dead: tuple[int, int] = (0, 0)
    reason: str = ""
    back: float = inf

    def exceeded(self, seen: Seen) -> Iterator[str]:
        """Yield what was seen beyond them."""
        if seen.others.p99 > self.p99:
            yield f"others wait {seen.others.p99:.1f} s, allowed {self.p99:g}"
        if seen.tries > self.tries:
            yield f"{seen.tries:.0f} tries a day, allowed {self.tries:g}"
        if seen.dollars > self.dollars:
            yield f"${seen.dollars:.4f} an hour, allowed {self.dollars:.4f}"
        if seen.back > self.back:
            yield f"back after {seen.back:.0f} s, allowed {self.back:g}"
        least, most = self.dead
        if not least <= seen.dead.total() <= most:
            yield f"{seen.dead.total()} dead letters, allowed {least} to {most}"
        for reason in seen.dead:
            if self.reason not in reason:
                yield f"dead for another reason: {reason}"
        yield from seen.faults


@dataclass(frozen=True)
class Cell:
    """One trouble: `whose` it is, and what happens, in words that end "what you see when …"."""

    whose: str
    when: str
    play: Callable[[], Seen]
    bounds: Bounds = Bounds()

    @property
    def name(self) -> str:
        return f"{self.whose}: {self.when}"


@cache
def see(cell: Cell) -> Seen:
    """Play a cell, the same way each time."""
    random.seed(0)
    with quiet():
        return cell.play()


def price(one: Simulation) -> float:
    """Return the dollars of all that was done."""
    return dollars(one.functions, one.sqs.requests.total())


def dollars(functions: Sequence[Function], requests: float) -> float:
    """Return the price of what functions did, and of requests to SQS."""
    used = {
        "lambda_calls": sum(each.calls for each in functions),
        "lambda_seconds": sum(each.seconds for each in functions) * MEMORY_MB / 1_024,
        "sqs": requests,
    }
    return sum(prices().of(name, units) for name, units in used.items())
