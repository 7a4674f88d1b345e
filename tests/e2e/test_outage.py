"""A consumer that is away for a while: only its events wait."""

import time
from collections import Counter
from collections.abc import Callable
from threading import Thread

import pytest

from tests.e2e import arrivals
from tests.e2e.arrivals import posted
from tests.e2e.system import System
from tests.servers.receiver import Answer

PUTS = 60
BEFORE = 20
RETURN_SECONDS = 60.0
"""Events that were tried in vain wait up to twice as long as the outage took."""


class Uploads:
    """A run of puts in the background, `PUTS` of them, so quick that it goes on after `BEFORE`."""

    def __init__(self, system: System, prefix: str) -> None:
        self.keys = [f"{prefix}{number:03}.jpg" for number in range(PUTS)]
        self.arrived = {f"uploads/{key}" for key in self.keys}
        self._system = system
        self._done = 0
        self._thread = Thread(target=self._run)

    def begin(self) -> None:
        """Start, and return in the middle of it."""
        self._thread.start()
        while self._done < BEFORE and self._thread.is_alive():
            time.sleep(0.005)

    def end(self) -> None:
        self._thread.join(60)
        assert self._done == PUTS, "S3 did not take all puts"

    def _run(self) -> None:
        for key in self.keys:
            self._system.put("uploads", key)
            self._done += 1
            time.sleep(0.01)


def keys_at(system: System, prefix: str) -> dict[str, Callable[[], set[str]]]:
    """How to see which keys have arrived at each target."""
    here = f"uploads/{prefix}"
    return {
        "webhook.primary": lambda: {one.key for one in posted(system.consumers.webhook, here)},
        "webhook.flaky": lambda: {one.key for one in posted(system.consumers.flaky, here)},
        "postgres.mirror": lambda: set(arrivals.table(system, here)),
        "postgres.log": lambda: {key for key, _ in arrivals.table_log(system, here)},
        "redis.mirror": lambda: set(arrivals.fields(system, here)),
        "redis.log": lambda: {key for key, _ in arrivals.list_log(system, here)},
    }


def assert_none_dead(system: System, *targets: str) -> None:
    dead = {name: system.depth(system.targets[name]["dead"]) for name in targets}
    assert not any(dead.values()), f"an outage of the target dead-lettered events: {dead}"


@pytest.mark.parametrize(
    ("kind", "end", "others"),
    [
        ("postgres", "stop", ("webhook.primary", "redis.mirror")),
        ("redis", "kill", ("webhook.primary", "postgres.mirror")),
    ],
)
def test_database_that_stops_in_a_batch_loses_nothing(
    system: System,
    prefix: str,
    rule: Callable[..., None],
    kind: str,
    end: str,
    others: tuple[str, ...],
) -> None:
    own = (f"{kind}.mirror", f"{kind}.log")
    server = getattr(system.consumers, kind)
    rule(*own, *others)
    look = keys_at(system, prefix)
    uploads = Uploads(system, prefix)
    uploads.begin()
    getattr(server, end)()
    try:
        uploads.end()
        for name in others:
            system.until_equal(f"all keys at {name} meanwhile", look[name], uploads.arrived)
        fares = system.fares()
        for name in own:
            assert fares[name]["online"] is False
            assert server.address.partition(":")[0] in fares[name]["why"]
            assert fares[name]["waiting"] > 0
        for name in others:
            assert fares[name]["online"] is True
            assert fares[name]["why"] == ""
    finally:
        server.start_again()
    for name in own:
        system.until_equal(
            f"all keys at {name}", look[name], uploads.arrived, within=RETURN_SECONDS
        )
    system.until_settled()
    assert_none_dead(system, *own, *others)
    assert system.fares()[own[0]]["online"] is True


def test_a_webhook_with_retry_after_gets_everything_after_the_pause(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky = system.consumers.flaky
    rule("webhook.flaky", "webhook.primary")
    look = keys_at(system, prefix)
    uploads = Uploads(system, prefix)
    uploads.begin()
    flaky.answer(Answer(status=503, headers={"Retry-After": "2"}, body="back soon", match=prefix))
    try:
        uploads.end()
        system.until_equal(
            "all keys at the other webhook", look["webhook.primary"], uploads.arrived
        )
        refused = [each for each in flaky.requests() if each.status == 503]
        assert refused
        assert system.fares()["webhook.flaky"]["waiting"] > 0
    finally:
        flaky.answer()
    system.until_equal("all keys", look["webhook.flaky"], uploads.arrived, within=RETURN_SECONDS)
    system.until_settled()
    taken = Counter(one.key for one in posted(flaky, f"uploads/{prefix}"))
    assert set(taken.values()) == {1}, "what was refused with 503 had not arrived"
    assert_none_dead(system, "webhook.flaky", "webhook.primary")


def test_webhook_that_closes_connections_loses_nothing(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky = system.consumers.flaky
    rule("webhook.flaky")
    uploads = Uploads(system, prefix)
    uploads.begin()
    flaky.kill()
    uploads.end()
    fares = system.until(
        "the target to be offline",
        lambda: system.fares()["webhook.flaky"],
        lambda seen: seen["online"] is False and seen["waiting"] > 0,
    )
    assert "127.0.0.1" in fares["why"] + fares["where"]
    flaky.start_again()
    look = keys_at(system, prefix)["webhook.flaky"]
    system.until_equal("all keys", look, uploads.arrived, within=RETURN_SECONDS)
    system.until_settled()
    assert_none_dead(system, "webhook.flaky")
