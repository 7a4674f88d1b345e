"""The model: what a stack does at a rate, by formulas over `constants`.

A queue has pollers, each of which receives messages, waits for a window if there is one, calls the
function and begins again. So many messages share a call as come meanwhile. `simulation` plays the
same with single messages, and shares no formula with this.
"""

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, product
from statistics import NormalDist
from typing import Final, NamedTuple

from benchmarks.scale import constants as c
from bucketcast.config import load
from bucketcast.config.model import Deployment
from bucketcast.cost.bill import DAYS_A_MONTH
from bucketcast.cost.estimate import Load, estimate
from bucketcast.limits import (
    BATCH_MESSAGES,
    INGEST_CONCURRENCY,
    INGEST_WINDOW_MESSAGES,
    SENDS_AT_ONCE,
    SQS_CALL_MESSAGES,
    TARGET_CONCURRENCY,
    WINDOW_MESSAGES,
)

FULL: Final = 0.7
"""So full are the pollers that a stack is given: above it messages begin to wait."""
POINTS: Final = tuple((number + 0.5) / 100 for number in range(100))
QUANTILES: Final = tuple((number + 0.5) / 12 for number in range(12))
NORMAL: Final = NormalDist()
CALLS: Final = ("sqs", "lambda_calls", "dynamodb_reads", "dynamodb_writes")
"""The prices of what is counted as a call."""


class Case(NamedTuple):
    """Events a second, and the targets that get all of them; `window` in seconds."""

    rate: float
    targets: int
    window: int

    @property
    def profile(self) -> str:
        return "throughput" if self.window else "latency"


class Hop(NamedTuple):
    """A queue and its function in a steady state.

    `batch` messages share a call, of which there are `calls` a second, gathered for `gathering`
    seconds. `full` is the part of what its pollers can carry, more than 1 if they are too few.
    `takes` returns the seconds of a call with so many messages, at most `most`. The messages come
    from so many `senders`, each of which sends at most one in a window.
    """

    pollers: int
    most: float
    gathering: float
    batch: float
    calls: float
    full: float
    takes: Callable[[float], float]
    senders: float = math.inf

    @property
    def busy(self) -> float:
        """The executions at once, on average."""
        return self.calls * self.takes(self.batch)

    @property
    def in_flight(self) -> float:
        """The messages in flight, on average."""
        waits = self.gathering * (1 + 1 / self.batch) / 2 + c.CALL + self.takes(self.batch)
        return self.calls * self.batch * waits


class Flow(NamedTuple):
    """A stack at a rate: its two hops."""

    ingest: Hop
    dispatch: Hop

    def delay(self, part: float) -> float:
        """Return a quantile of the delay through both hops, in seconds."""
        sums = delays_through(self)
        return sums[int(part * len(sums))]


@cache
def delays_through(flow: Flow) -> Sequence[float]:
    """Return delays through both hops, in seconds, the shortest first."""
    # An event is more often in a large message than in a small one.
    size = size_of_an_event(flow.ingest)
    dispatch = flow.dispatch._replace(takes=lambda batch: dispatch_seconds(batch * size))
    return sorted(map(sum, product(delays(flow.ingest), delays(dispatch))))


def ingest_seconds(events: float, targets: int) -> float:
    """Return how long a call of ingest takes; it sends to several targets at once."""
    sends = math.ceil(targets / SENDS_AT_ONCE) - 1
    return c.INGEST_BATCH + sends * c.CALL + events * (c.INGEST_EVENT + targets * c.PACK_EVENT)


def dispatch_seconds(events: float) -> float:
    """Return how long it takes to post events to a webhook, so many at once."""
    return c.DISPATCH_BATCH + events * c.SEND_EVENT + max(1.0, events / c.AT_ONCE) * c.ANSWER


def hop(
    rate: float, pollers: int, window: float, most: float, seconds: Callable[[float], float]
) -> Hop:
    """Return a hop with so many messages a second, of which a call takes `most`."""
    return (_gathered if window else _at_once)(rate, pollers, window, most, seconds)


def _at_once(
    rate: float, pollers: int, _: float, most: float, seconds: Callable[[float], float]
) -> Hop:
    batch = 1.0
    for _ in range(100):
        round_ = c.CALL + seconds(batch)
        batch += (min(max(rate * round_ / pollers, 1.0), most) - batch) / 2
    full = rate * (c.CALL + seconds(most)) / most / pollers
    return Hop(pollers, most, 0.0, batch, rate / batch, full, seconds)


def _gathered(
    rate: float, pollers: int, window: float, most: float, seconds: Callable[[float], float]
) -> Hop:
    most = min(most, window / c.CALL * SQS_CALL_MESSAGES)
    batch, free = 1.0, float(pollers)
    for _ in range(100):
        free = max(pollers - rate / batch * seconds(batch), pollers / 1_000)
        batch += (min(1 + window * rate / free, most) - batch) / 2
    gathering = min(window, (batch - 1) * free / rate) if batch >= most else window
    full = rate * (c.CALL + window + seconds(most)) / most / pollers
    return Hop(pollers, most, gathering, batch, rate / batch, full, seconds)


def size_of_an_event(hop: Hop) -> float:
    """Return the mean size of the batches in which events are."""
    sizes = [_size(hop, quantile) for quantile in QUANTILES]
    return sum(size * size for size in sizes) / sum(sizes)


def delays(hop: Hop) -> Sequence[float]:
    """Return quantiles, in seconds, of the time from a message's arrival to its call's end."""
    found = (_delays_gathered if hop.gathering else _delays_at_once)(hop)
    points, weights = zip(*sorted(found), strict=True)
    sums = list(accumulate(weights))
    return [points[bisect(sums, each * sums[-1])] for each in POINTS]


def _delays_at_once(hop: Hop) -> Iterator[tuple[float, float]]:
    """Yield delays with their weights: a message waits until any of the pollers is free."""
    round_ = c.CALL + hop.takes(hop.batch)
    part = min(hop.calls * round_ / hop.pollers, 1.0)
    for quantile, each, varied in product(QUANTILES, repeat=3):
        wait = round_ * max(0.0, 1 - (1 - each) ** (1 / hop.pollers) / part)
        size = _size(hop, quantile)
        yield wait + c.CALL + _varied(hop, size, varied), size


def _delays_gathered(hop: Hop) -> Iterator[tuple[float, float]]:
    """Yield delays with their weights: those that are busy leave more for the others.

    The first message of a batch waits for all of the window, the others for a part of it.
    """
    part = hop.busy / hop.pollers
    free, spread = hop.pollers - hop.busy, math.sqrt(hop.pollers * part * (1 - part))
    for busy, more in product(QUANTILES, repeat=2):
        now_free = min(max(free + spread * NORMAL.inv_cdf(busy), 1.0), hop.pollers)
        size = _size(hop, more, free / now_free)
        takes = [_varied(hop, size, varied) for varied in QUANTILES]
        for each in QUANTILES:
            waits = hop.gathering * min(1.0, each / max(1 - 1 / size, each))
            for taken in takes:
                yield waits + c.CALL + taken, size


def _size(hop: Hop, quantile: float, more: float = 1.0) -> float:
    """Return a quantile of the messages of a call, if so many times as many come as on average."""
    if hop.gathering:
        # Of a binomial distribution, by the first two terms of Cornish and Fisher.
        mean, normal = (hop.batch - 1) * more, NORMAL.inv_cdf(quantile)
        part = min(mean / hop.senders, 1.0)
        spread, skew = math.sqrt(mean * (1 - part)) * normal, (1 - 2 * part) * (normal**2 - 1) / 6
        size = 1 + max(0.0, mean + spread + skew)
    else:
        # Polls begin by chance, so what comes between two is spread as the times between them.
        size = max(1.0, -hop.batch * math.log(1 - quantile))
    return min(size, hop.most)


def _varied(hop: Hop, size: float, quantile: float) -> float:
    return hop.takes(size) * (1 + c.VARIES * (2 * quantile - 1))


@cache
def flow(case: Case, ingest: int = 0, dispatch: int = 0) -> Flow:
    """Return the flow with so many pollers for a queue, or with as many as it needs."""
    ingest = ingest or _pollers(_ingest(case, 1), INGEST_CONCURRENCY)
    first = _ingest(case, ingest)
    number = dispatch or _pollers(_dispatch(case, first, 1), TARGET_CONCURRENCY)
    return Flow(first, _dispatch(case, first, number))


def _ingest(case: Case, pollers: int) -> Hop:
    most = INGEST_WINDOW_MESSAGES if case.window else BATCH_MESSAGES
    return hop(
        case.rate, pollers, case.window, most, lambda batch: ingest_seconds(batch, case.targets)
    )


def _dispatch(case: Case, ingest: Hop, pollers: int) -> Hop:
    most = c.TARGET_EVENTS / ingest.batch
    most = max(1.0, min(most, WINDOW_MESSAGES if case.window else BATCH_MESSAGES))
    return hop(
        ingest.calls,
        pollers,
        case.window,
        most,
        lambda batch: dispatch_seconds(batch * ingest.batch),
    )._replace(senders=ingest.pollers)


def _pollers(one: Hop, least: int) -> int:
    """Return the fewest pollers that are not too full, by how full one alone would be."""
    number = least
    while one.full / number > FULL:
        number = max(number + 1, int(number * 1.05))
    return number


def configuration(case: Case) -> Deployment:
    """Return a configuration with so many webhooks."""
    hook = {"endpoint": "https://example.org/", "deploy": {"profile": case.profile}}
    hooks = {f"t{number}": hook for number in range(case.targets)}
    tables = {"notify_webhook": hooks, "ingest": {"window": f"{case.window}s"}}
    return load(tables, {}, local=False)


@cache
def dollars_and_calls(case: Case) -> tuple[float, float]:
    """Return the dollars of a day, and the calls of AWS an event, by `bucketcast cost`."""
    events_a_day = case.rate * 86_400
    bill = estimate(configuration(case), Load(events_a_day=events_a_day))
    calls = sum(line.units for line in bill.lines if line.price in CALLS and not line.fixed)
    return bill.total(fixed=False) / DAYS_A_MONTH, calls / bill.events


class Limit(NamedTuple):
    """What is met, from which rate on, and the line of configuration that lifts it."""

    name: str
    rate: float
    line: str


@cache
def limits(targets: int, window: int) -> Sequence[Limit]:
    """Return what is met, the first first: with the defaults, and then with enough pollers."""

    def rate(is_met: Callable[[Case], bool]) -> float:
        low, high = 1.0, 1e7
        while high / low > 1.01:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if is_met(Case(middle, targets, window)) else (middle, high)
        return low

    def reads(case: Case) -> bool:
        return flow(case).ingest.calls > c.PARTITION_READS

    def account(case: Case) -> bool:
        hops = flow(case)
        return hops.ingest.pollers + targets * hops.dispatch.pollers > c.ACCOUNT_CONCURRENCY

    defaults = INGEST_CONCURRENCY, TARGET_CONCURRENCY
    window_line = '[ingest] window = "1s"' if not window else "more buckets do not help"
    found = [
        Limit(
            "executions of ingest",
            rate(lambda case: flow(case, *defaults).ingest.full > 1),
            "[ingest] reserved_concurrency",
        ),
        Limit(
            "executions of a target",
            rate(lambda case: flow(case, 0, defaults[1]).dispatch.full > 1),
            "[notify_webhook.NAME.deploy] max_concurrency",
        ),
        Limit("PUTs of one prefix of S3", c.PREFIX_PUTS, "more prefixes"),
        Limit("executions of the account", rate(account), "a higher quota"),
        Limit("reads of an item with rules", rate(reads), window_line),
        Limit(
            "messages in flight",
            rate(lambda case: flow(case).ingest.in_flight > c.IN_FLIGHT),
            "a second stack",
        ),
        Limit(
            "executions of a queue",
            rate(lambda case: max(hop.pollers for hop in flow(case)) > c.MAPPING_CONCURRENCY),
            "a second stack",
        ),
    ]
    return sorted(found, key=lambda limit: limit.rate)
