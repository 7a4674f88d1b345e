"""The state of a target, by what happened to its events."""

from dataclasses import replace

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Health
from bucketcast.deployment.status import Condition, Status, condition
from bucketcast.state.counters import Last
from bucketcast.state.dynamic_targets import DynamicTarget

ARN = "arn:minio:sqs::primary:webhook"
ITEM = DynamicTarget(
    arn=ARN, kind="webhook", id="primary", queue="q", settings={}, number=1, state="kept"
)
TARGET = DeployedTarget(ARN, "webhook", "primary", "f", "q", "q-dead")
HEALTHY = Health("h", online=True, why="", waiting=3, dead=0)
UNREACHED = replace(HEALTHY, online=False, why="refused")
PROBED = replace(HEALTHY, online=None)
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
        (TARGET, replace(PROBED, why="not allowed"), None, Last(), Condition("unknown")),
        (TARGET, UNREACHED, AWAY._replace(paused=50), FAILING, Condition("paused", 50)),
        (replace(TARGET, enabled=False), UNREACHED, AWAY, FAILING, Condition("off")),
        (replace(TARGET, dynamic=ITEM), UNREACHED, AWAY, FAILING, Condition("absent")),
    ],
)
def test_state_is_said_by_what_happened_to_events(
    target: DeployedTarget, health: Health, outage: Outage | None, last: Last, expected: Condition
) -> None:
    assert condition(target, health, outage, last) == expected


@pytest.mark.parametrize(
    ("waiting", "last", "began", "expected"),
    [
        (3, 70, 20, 20),  # what has just come hides what waits
        (3, 10, 20, 10),
        (3, 70, 0, 70),
        (3, 0, 20, 20),
        (0, 70, 20, 0),
    ],
)
def test_oldest_event_of_an_outage_waits_since_it_began(
    waiting: int, last: int, began: int, expected: int
) -> None:
    health, outage = replace(HEALTHY, waiting=waiting), Outage(began, 90)
    assert Status(TARGET, health, outage, Last(oldest=last)).oldest == expected
