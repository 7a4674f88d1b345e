"""A consumer that is away for a while: only its events wait."""

import time
from collections.abc import Callable
from threading import Thread

from tests.e2e import arrivals
from tests.e2e.arrivals import posted
from tests.e2e.system import RETURN_SECONDS, System

PUTS = 60
BEFORE = 20


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
        self._thread.join(180)
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
        "postgres.mirror": lambda: set(arrivals.table(system, here)),
        "postgres.log": lambda: {key for key, _ in arrivals.table_log(system, here)},
        "redis.mirror": lambda: set(arrivals.fields(system, here)),
    }


def assert_none_dead(system: System, *targets: str) -> None:
    dead = {name: system.depth(system.targets[name]["dead"]) for name in targets}
    assert not any(dead.values()), f"an outage of the target dead-lettered events: {dead}"


def test_database_that_stops_in_a_batch_loses_nothing(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    own, others = ("postgres.mirror", "postgres.log"), ("webhook.primary", "redis.mirror")
    server = system.consumers.postgres
    rule(*own, *others)
    look = keys_at(system, prefix)
    uploads = Uploads(system, prefix)
    uploads.begin()
    server.stop()
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
