"""The limit of requests in flight, at simulated endpoints over a simulated clock."""

import heapq
from dataclasses import dataclass, field

import pytest

from bucketcast.targets.webhook.limiter import START, Limiter

CAP = 900


class Endpoint:
    """Works at `at_once` requests, each for `seconds`, and lets others wait up to `allowed`."""

    def __init__(self, seconds: float, at_once: int = 1_000_000, allowed: int = 1_000_000) -> None:
        self.seconds, self.at_once, self.allowed = seconds, at_once, allowed
        self._ends: list[float] = []

    def answer(self, now: float) -> tuple[float, bool]:
        """Return when it answers a request of now, and whether it refuses it."""
        while self._ends and self._ends[0] <= now:
            heapq.heappop(self._ends)
        if len(self._ends) >= self.allowed:
            return now + 0.000_2, True
        ahead = len(self._ends) - self.at_once
        begin = now if ahead < 0 else sorted(self._ends)[ahead]
        heapq.heappush(self._ends, begin + self.seconds)
        return begin + self.seconds, False


@dataclass
class Run:
    """Requests to a simulated endpoint, as many at a time as the limiter allows.

    `own` are the seconds that each costs the sender itself, which does one thing at a time.
    """

    endpoint: Endpoint
    limiter: Limiter = field(default_factory=lambda: Limiter(CAP))
    own: float = 0.000_02
    now: float = 0.0
    refused: int = 0
    limits: list[int] = field(default_factory=list)

    def send(self, count: int) -> "Run":
        """Send until so many have arrived; a refused one is sent again."""
        flying: list[tuple[float, float, bool]] = []
        left = count
        while left or flying:
            while left and len(flying) < self.limiter.limit:
                left -= 1
                end, refused = self.endpoint.answer(self.now)
                heapq.heappush(flying, (end, self.now, refused))
                self.now += self.own
            full = len(flying) >= self.limiter.limit
            end, started, refused = heapq.heappop(flying)
            self.now = max(self.now, end)
            self.limits.append(self.limiter.limit)
            if refused:
                self.refused += 1
                left += 1
                self.limiter.record_refusal()
            else:
                self.limiter.record_success([self.now - started], full=full)
        return self

    def rate(self, count: int) -> float:
        """Return how many a second arrive, of so many more."""
        start = self.now
        self.send(count)
        return count / (self.now - start)


@pytest.mark.parametrize(("seconds", "rate"), [(0.01, 5_300), (0.1, 2_700)])
def test_a_constant_latency_gets_as_many_as_the_aim_needs(seconds: float, rate: float) -> None:
    run = Run(Endpoint(seconds))
    assert run.rate(20_000) > rate
    assert run.limiter.limit > rate * seconds


def test_it_never_exceeds_its_cap() -> None:
    for cap in (1, 3, START, 100):
        run = Run(Endpoint(0.1), Limiter(cap)).send(5_000)
        assert max(run.limits) == cap


@pytest.mark.parametrize("seconds", [0.000_5, 0.01, 0.1])
@pytest.mark.parametrize("number", [5, 20, 100])
def test_an_endpoint_gets_what_it_allows_and_refuses_one_in_a_hundred(
    number: int, seconds: float
) -> None:
    run = Run(Endpoint(seconds, allowed=number)).send(20_000)
    assert run.refused <= 200
    settled = run.limits[5_000:]
    assert sum(settled) / len(settled) > 0.9 * min(number, seconds / run.own)
    assert max(settled) <= number + 1


def test_what_an_endpoint_allows_is_found_again_soon_after_a_slowdown() -> None:
    run = Run(Endpoint(0.01, allowed=100)).send(10_000)
    run.endpoint.at_once = 10
    assert run.send(5_000).limiter.limit < 50
    run.endpoint.at_once = 100
    run.refused = 0
    assert run.send(5_000).limiter.limit > 90
    assert run.refused <= 50


def test_more_that_an_endpoint_allows_later_are_found() -> None:
    run = Run(Endpoint(0.01, allowed=20)).send(5_000)
    run.endpoint = Endpoint(0.01, allowed=200)
    run.send(100_000)
    assert run.limiter.limit > 150


@pytest.mark.parametrize("at_once", [16, 100, 300])
def test_an_endpoint_that_slows_down_under_load_is_kept_busy_and_answers_soon(
    at_once: int,
) -> None:
    run = Run(Endpoint(0.05, at_once)).send(20_000)
    assert run.rate(20_000) > 0.9 * at_once / 0.05
    assert max(run.limits[-20_000:]) <= 2.5 * at_once


def test_one_that_becomes_slower_by_itself_gets_as_many_again() -> None:
    run = Run(Endpoint(0.01)).send(50_000)
    before = run.limiter.limit
    run.endpoint = Endpoint(0.1)
    lowest = min(run.send(10_000).limits[-10_000:])
    assert lowest <= before / 2
    assert run.send(30_000).limiter.limit >= before


def test_one_that_becomes_slower_under_load_gets_fewer() -> None:
    run = Run(Endpoint(0.01, 300)).send(50_000)
    assert run.limiter.limit >= 300
    run.endpoint = Endpoint(0.01, 30)
    run.send(20_000)
    assert max(run.send(10_000).limits[-10_000:]) <= 2.5 * 30


def test_one_that_refuses_everything_is_searched_again_when_it_is_back() -> None:
    run = Run(Endpoint(0.01)).send(20_000)
    for _ in range(run.limiter.limit):
        run.limiter.record_refusal()
    assert run.limiter.limit == 1
    assert run.send(3_000).limiter.limit > 100


def test_fewer_requests_than_are_allowed_say_nothing() -> None:
    limiter = Limiter(CAP)
    limiter.record_success([0.01] * 1_000, full=False)
    assert limiter.limit == START
    limiter.record_success([0.01] * 1_000, full=True)
    assert limiter.limit > START
