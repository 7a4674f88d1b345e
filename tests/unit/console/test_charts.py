"""Charts of a target: from CloudWatch, or what the console counted itself."""

import re
import time
from typing import Any, Final

import pytest

from bucketcast.state.counters import Counts
from tests.unit.conftest import Watch
from tests.unit.console.site import Site
from tests.unit.moto_aws import WEBHOOK, MotoAws, refusal

TARGET: Final = "/targets/webhook:primary"
QUEUE: Final = "Bucketcast-webhook-primary"
CHART: Final = re.compile(r'role="img" aria-label="([^"]*)"')


@pytest.mark.parametrize(("period", "highest"), [("hour", "6"), ("month", "9")])
def test_metrics_are_drawn_for_a_period(
    site: Site, aws: MotoAws, period: str, highest: str
) -> None:
    dimensions = [{"Name": "target", "Value": WEBHOOK}]
    for ago, number in ((0, 6), (2 * 86_400, 9)):
        metric: Any = {"MetricName": "EventsDelivered", "Dimensions": dimensions, "Value": number}
        metric["Timestamp"] = time.time() - ago
        aws.cloudwatch.put_metric_data(Namespace="Bucketcast", MetricData=[metric])
    (chart,) = CHART.findall(site.get(f"{TARGET}?period={period}").text)
    # Of an hour the last is 0 if a minute begins between the call and the page.
    assert re.fullmatch(f"Delivered: from 0 to [06], at most {highest}", chart)


def test_what_waits_is_what_was_counted_last(site: Site, aws: MotoAws) -> None:
    for ago, number in ((2_400, 7), (1_200, 5)):
        metric: Any = {
            "MetricName": "ApproximateNumberOfMessagesVisible",
            "Dimensions": [{"Name": "QueueName", "Value": QUEUE}],
            "Value": number,
            "Timestamp": time.time() - ago,
        }
        aws.cloudwatch.put_metric_data(Namespace="AWS/SQS", MetricData=[metric])
    assert "Waiting: from 7 to 5, at most 7" in CHART.findall(site.get(TARGET).text)


def test_who_may_not_read_metrics_sees_the_target(site: Site, aws: MotoAws, watch: Watch) -> None:
    watch(aws.cloudwatch, "get_metric_data", refusal("AccessDenied", "GetMetricData"))
    answer = site.get(TARGET)
    assert (answer.status, "not allowed: GetMetricData" in answer.text) == (200, True)


def test_counts_of_a_stack_without_metrics_are_drawn(
    site: Site, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nothing is counted yet" in site.get(TARGET).text
    now = time.time()
    for minute, counts in enumerate((Counts(sent=40), Counts(2, 5), Counts(3, dead=1))):
        aws.counters.add(WEBHOOK, counts)
        monkeypatch.setattr(time, "time", lambda at=now + 61 * minute: at)
        site.state.watch._read()
    assert CHART.findall(site.get(TARGET).text) == [
        "Delivered: from 0 to 3, at most 3",
        "Failed: from 0 to 1, at most 5",
        "Waiting: from 0 to 0, at most 0",
    ]
