"""Pausing a target: its events wait, and come when it is resumed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.e2e.arrivals import posted
from tests.e2e.system import RETURN_SECONDS, System

FLAKY = "webhook.flaky"


@contextmanager
def paused(system: System, arn: str) -> Iterator[None]:
    """Pause a target for a while."""
    ran = system.bucketcast("target", "pause", arn, "--json")
    assert (ran.code, ran.document["changed"], ran.document["unconfirmed"]) == (0, True, "")
    try:
        yield
    finally:
        assert system.bucketcast("target", "resume", arn).code == 0


def test_events_of_a_paused_target_arrive_after_the_pause(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule(FLAKY)
    system.until_settled()
    with paused(system, system.targets[FLAKY]["arn"]):
        system.put("uploads", f"{prefix}kept.jpg")
        found = system.until(
            "the event waits", lambda: system.fares()[FLAKY], lambda seen: seen["waiting"] == 1
        )
        assert found["paused"]
        assert posted(system.consumers.flaky, f"uploads/{prefix}") == []
    system.until_equal(
        "what came in the pause, after it",
        lambda: [each.key for each in posted(system.consumers.flaky, f"uploads/{prefix}")],
        [f"uploads/{prefix}kept.jpg"],
        within=RETURN_SECONDS,
    )
