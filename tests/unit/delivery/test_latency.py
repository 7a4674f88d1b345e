"""The histogram of latencies, and the line of CloudWatch's embedded metric format it becomes."""

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from bucketcast import telemetry
from bucketcast.delivery.latency import MOST_VALUES, histogram
from bucketcast.event import AGENT
from bucketcast.telemetry import Histogram
from tests.unit.samples import event

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


def after(*seconds: float, **more: str) -> Histogram:
    """What events make that were put so many seconds before they were delivered."""
    times = (NOW - timedelta(seconds=each) for each in seconds)
    made = [event(time=f"{each:%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z", **more) for each in times]
    return histogram(made, NOW.timestamp())


@pytest.mark.parametrize("seconds", [0.011, 0.1, 0.25, 1, 59, 900, 86_400, 90 * 86_400])
def test_value_is_near_to_the_measurement(seconds: float) -> None:
    ((value, count),) = after(seconds).items()
    assert count == 1
    assert value == pytest.approx(seconds * 1_000, rel=0.12)


def test_a_clock_ahead_of_ours_is_no_negative_latency() -> None:
    assert after(-5.0, 0.0) == {0.0: 2}


def test_a_batch_has_no_more_values_than_cloudwatch_accepts() -> None:
    pick = random.Random(1)  # noqa: S311 - the same in every run
    found = after(*(10 ** pick.uniform(-3, 9) for _ in range(20_000)))
    assert found.total() == 20_000
    assert MOST_VALUES / 2 < len(found) <= MOST_VALUES


def test_events_of_our_own_jobs_have_no_latency() -> None:
    assert not after(100.0, user_agent=f"{AGENT}backfill")


def test_a_time_that_is_no_date_is_left_out() -> None:
    """Such an event is delivered like any other, and must not stop its batch."""
    assert not histogram([event(time="2026-99-99T99:99:99.000Z")], 0.0)


def test_a_batch_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    taken = Histogram({20.0: 3, 90.0: 1})
    telemetry.measure("arn", EventsDelivered=4, EventsDead=0, DeliveryLatency=taken)
    line = json.loads(capsys.readouterr().out)
    (described,) = line["_aws"]["CloudWatchMetrics"]
    assert described["Dimensions"] == [["target"]]
    assert described["Metrics"] == [{"Name": "EventsDelivered"}, {"Name": "DeliveryLatency"}]
    assert line["DeliveryLatency"] == {
        "Values": [20.0, 90.0],
        "Counts": [3, 1],
        "Min": 20.0,
        "Max": 90.0,
        "Sum": 150.0,
        "Count": 4,
    }
    assert (line["target"], line["EventsDelivered"]) == ("arn", 4)


def test_one_event_is_a_plain_value(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.measure("arn", DeliveryLatency=Histogram({20.0: 1}))
    assert json.loads(capsys.readouterr().out)["DeliveryLatency"] == 20.0


def test_nothing_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.measure("arn", EventsDelivered=0, DeliveryLatency=Histogram())
    assert capsys.readouterr().out == ""
