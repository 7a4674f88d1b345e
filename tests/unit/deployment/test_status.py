"""The state of a target, by what happened to its events."""

from dataclasses import replace

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Health
from bucketcast.deployment.status import Condition, Status, condition
from bucketcast.state.counters import Last
from bucketcast.state.items import DynamicTarget

ARN = "arn:minio:sqs::primary:webhook"
ITEM = DynamicTarget(
    arn=ARN, kind="webhook", id="primary", queue="q", settings={}, number=1, state="kept"
)
TARGET = DeployedTarget(ARN, "webhook", "primary", "f", "q", "q-dead")
HEALTHY = Health(online=True, waiting=3, dead=0)
UNREACHED = HEALTHY._replace(online=False, why="refused")
PROBED = HEALTHY._replace(online=None)
AWAY = Outage(20, 90, error="NotConnected")
SILENT = Outage(20, 90, error="TimedOut")
FAILING = Last(success=9, failure=80, tried=30, taken=2, failing=40)


@pytest.mark.parametrize(
    ("target", "health", "outage", "last", "expected"),
    [
        (TARGET, HEALTHY, None, Last(success=9, failure=80), Condition("online")),
        (TARGET, HEALTHY, None, FAILING, Condition("failing", 40)),
        (TARGET, HEALTHY, SILENT, FAILING, Condition("failing", 20, 90)),
        (TARGET, HEALTHY, AWAY, Last(), Condition("failing", 20, 90)),
        (TARGET, PROBED, SILENT, Last(), Condition("failing", 20, 90)),
        (TARGET, PROBED, AWAY, Last(), Condition("offline", 20, 90)),
        (TARGET, UNREACHED, None, Last(success=9), Condition("offline")),
        (TARGET, UNREACHED, SILENT, FAILING, Condition("offline", 20, 90)),
        (TARGET, PROBED, None, Last(), Condition("probing")),
        (TARGET, PROBED._replace(why="not allowed"), None, Last(), Condition("unknown")),
        (TARGET, UNREACHED, AWAY._replace(paused=50), FAILING, Condition("paused", 50)),
        (replace(TARGET, enabled=False), UNREACHED, AWAY, FAILING, Condition("off")),
        (replace(TARGET, dynamic=ITEM), UNREACHED, AWAY, FAILING, Condition("absent")),
    ],
)
def test_state_is_said_by_what_happened_to_events(
    target: DeployedTarget, health: Health, outage: Outage | None, last: Last, expected: Condition
) -> None:
    assert condition(target, health, outage, last) == expected


DAY = 86_400_000
NOW = 100 * DAY
SINCE = NOW - 780_000
GOOD = Last(success=NOW - 3 * DAY, oldest=NOW - 3 * DAY - 300, tried=200, taken=200)
LATE = GOOD._replace(success=NOW, oldest=NOW - 9)
REFUSED = Last(failure=NOW, error="Rejected", oldest=NOW, tried=6, failing=SINCE, dead=NOW)
DELIVERED = Last(DAY, DAY - 9, "Retryable", oldest=DAY, tried=7, taken=1, failing=7, left=6)
MOST = Last(NOW - 5, NOW, "Retryable", "503", NOW - 9, 9_000, 900, SINCE, SINCE - 9)
HELD = Last(NOW - 2 * DAY, oldest=NOW - 9, tried=9, taken=9, left=NOW - DAY)
DIED = Last(failure=NOW, error="Crashed", oldest=NOW - 9, tried=3, failing=SINCE, left=SINCE - 9)


@pytest.mark.parametrize(
    ("waiting", "in_flight", "outage", "last", "expected"),
    [
        # Tried six times, delivered, and quiet: each event counts once.
        (0, 0, None, DELIVERED, ("online", 0, 0)),
        (1, 1, None, DELIVERED, ("online", 0, 0)),
        (0, 0, None, DELIVERED._replace(success=0), ("online", 0, 0)),  # another function's success
        # A time-out among successes, and one that is tried again.
        (0, 0, None, Last(NOW, NOW - 5, tried=101, taken=100), ("online", 0, 0)),
        (2, 1, None, Last(NOW - 5, NOW, "TimedOut", "", NOW - 9, 2, 1, 9, 9), ("online", 0, 0)),
        # Nothing waits where all is refused, or was until it was repaired.
        (0, 0, None, REFUSED, ("failing", SINCE, 0)),
        (1, 1, None, REFUSED, ("failing", SINCE, 0)),
        (0, 0, None, REFUSED._replace(success=NOW + 9), ("online", 0, 0)),
        # Down for 13 minutes, with the breaker closed, open, or as nobody knows what waits.
        (500, 20, None, MOST, ("failing", SINCE, SINCE - 9)),
        (20, 20, None, MOST, ("failing", SINCE, SINCE - 9)),
        (500, 20, Outage(SINCE, NOW), Last(oldest=NOW), ("failing", SINCE, SINCE)),
        (None, None, None, MOST, ("failing", SINCE, 0)),
        # The end of an outage could not be written; or it is not over.
        (0, 0, Outage(SINCE, NOW, error="NotConnected"), LATE, ("online", 0, 0)),
        (0, 0, Outage(SINCE, NOW), LATE._replace(dead=NOW), ("online", 0, 0)),
        (0, 0, Outage(SINCE, NOW), GOOD, ("failing", SINCE, 0)),  # what waited was discarded
        (1, 1, Outage(SINCE, NOW), LATE, ("failing", SINCE, SINCE)),
        (None, None, Outage(SINCE, NOW), LATE, ("failing", SINCE, 0)),
        # Paused: what waits in large messages is hidden, as if it were being tried.
        (500, 20, Outage(0, 0, paused=7), HELD, ("paused", 7, NOW - DAY)),
        (20, 20, Outage(0, 0, paused=7), HELD, ("paused", 7, NOW - DAY)),
        # Idle for three days, and then one message in flight.
        (1, 1, None, GOOD, ("online", 0, 0)),
        (500, 20, None, GOOD, ("online", 0, 0)),
        # Slower than its events come.
        (500, 20, None, GOOD._replace(success=NOW, oldest=NOW - DAY), ("online", 0, NOW - DAY)),
        # Its function ends with every batch.
        (5_000, 20, None, DIED, ("failing", SINCE, SINCE - 9)),
    ],
)
def test_state_and_oldest_are_said_by_few_facts(
    waiting: int | None,
    in_flight: int | None,
    outage: Outage | None,
    last: Last,
    expected: tuple[str, int, int],
) -> None:
    health = HEALTHY._replace(waiting=waiting, in_flight=in_flight)
    status = Status(TARGET, health, outage, last)
    state, since, _ = status.condition
    assert (state, since, status.oldest) == expected
