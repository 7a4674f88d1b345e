"""The limit of requests in flight, at simulated endpoints over a simulated clock."""

import heapq
import random
from collections.abc import Callable

import pytest

from bucketcast.targets.webhook.limiter import START, Limiter

CAP = 900
OWN = 0.000_02


class Endpoint:
    """Works at `at_once` requests, each for `seconds`, and lets others wait up to `allowed`."""

    def __init__(
        self,
        seconds: float | Callable[[], float],
        at_once: int = 1_000_000,
        allowed: int = 1_000_000,
    ) -> None:
        self.seconds = seconds if callable(seconds) else lambda: seconds
        self.at_once, self.allowed = at_once, allowed
        self._ends: list[float] = []

    def answer(self, now: float) -> tuple[float, str]:
        """Return when it answers a request of now, and how: `taken` or `refused`."""
        while self._ends and self._ends[0] <= now:
            heapq.heappop(self._ends)
        if len(self._ends) >= self.allowed:
            return now + 0.000_2, "refused"
        ahead = len(self._ends) - self.at_once
        begin = now if ahead < 0 else sorted(self._ends)[ahead]
        end = begin + self.seconds()
        heapq.heappush(self._ends, end)
        return end, "taken"


class Run:
    """Functions that send to a simulated endpoint, each as many at a time as its limiter allows.

    A request costs its function `OWN` seconds, which does one thing at a time.
    """

    def __init__(self, endpoint: Endpoint, *limiters: Limiter) -> None:
        self.endpoint = endpoint
        self.limiters = limiters or (Limiter(CAP),)
        self.limiter = self.limiters[0]
        self.now = 0.0
        self.refused = 0
        self.limits: list[int] = []
        """Those of the first function, at each of its responses."""

    def send(self, count: int) -> "Run":
        """Send until so many have arrived; a refused one is sent again."""
        left = count
        free = [self.now] * len(self.limiters)
        flying = [0] * len(self.limiters)
        moments: list[tuple[float, int, float, str]] = []
        """Of a request its time, its function, when that began to send it, and the answer,
        "" before it arrives."""

        def fill(number: int) -> None:
            nonlocal left
            free[number] = max(free[number], self.now)
            while left and flying[number] < self.limiters[number].limit:
                left -= 1
                flying[number] += 1
                heapq.heappush(moments, (free[number], number, self.now, ""))
                free[number] += OWN

        for number in range(len(self.limiters)):
            fill(number)
        while moments:
            self.now, number, began, answer = heapq.heappop(moments)
            if not answer:
                end, answer = self.endpoint.answer(self.now)
                heapq.heappush(moments, (end, number, began, answer))
                continue
            limiter = self.limiters[number]
            if number == 0:
                self.limits.append(limiter.limit)
            full = flying[number] >= limiter.limit
            flying[number] -= 1
            if answer == "refused":
                self.refused += 1
                left += 1
                limiter.record_refusal()
            else:
                limiter.record_success([self.now - began], full=full)
            fill(number)
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


@pytest.mark.parametrize(("share", "slow"), [(0.01, 5.0), (0.5, 0.2)])
def test_some_that_take_longer_do_not_look_like_load(share: float, slow: float) -> None:
    chance = random.Random(1)  # noqa: S311 - the same in each run
    run = Run(Endpoint(lambda: slow if chance.random() < share else 0.005)).send(20_000)
    assert run.limiter.limit > 300


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
    assert sum(settled) / len(settled) > 0.9 * min(number, seconds / OWN)
    assert max(settled) <= number + 1


def test_four_functions_share_what_an_endpoint_allows() -> None:
    run = Run(Endpoint(0.01, allowed=20), *(Limiter(CAP) for _ in range(4)))
    assert run.rate(20_000) > 0.95 * 20 / 0.01
    assert run.refused <= 200


def test_more_that_an_endpoint_allows_later_are_found() -> None:
    run = Run(Endpoint(0.01, allowed=20)).send(5_000)
    run.endpoint = Endpoint(0.01, allowed=200)
    run.send(100_000)
    assert run.limiter.limit > 150


@pytest.mark.parametrize("at_once", [16, 100, 300])
def test_an_endpoint_that_slows_down_under_load_is_kept_busy(at_once: int) -> None:
    run = Run(Endpoint(0.05, at_once)).send(20_000)
    assert run.rate(20_000) > 0.9 * at_once / 0.05
    assert max(run.limits[-20_000:]) <= 2.5 * at_once


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
