"""The dashboard shows what there is, for one target and for hundreds."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.conftest import TYPICAL, Make, Synthesised
from tests.infra.resolved import Resolved


@pytest.fixture(scope="module")
def typical(make: Make) -> Synthesised:
    return make(f'dashboard = "on"\n{TYPICAL}')


def body(found: Synthesised) -> list[dict[str, Any]]:
    (made,) = Resolved(found.json).of_type("AWS::CloudWatch::Dashboard").values()
    widgets: list[dict[str, Any]] = json.loads(made["DashboardBody"])["widgets"]
    return widgets


def metrics(found: Synthesised) -> Iterator[list[Any]]:
    for widget in body(found):
        yield from widget["properties"].get("metrics", ())


def test_each_queue_and_function_is_shown(typical: Synthesised) -> None:
    named = {each[3] for each in metrics(typical) if len(each) > 3}
    queues = {each["QueueName"] for each in typical.properties_of("AWS::SQS::Queue")}
    made = typical.properties_of("AWS::Lambda::Function")
    functions = {each["FunctionName"] for each in made if "FunctionName" in each}
    assert queues
    assert functions
    assert queues | functions <= named


def test_each_alarm_is_shown(typical: Synthesised) -> None:
    metrics = {
        arn.rpartition(":")[2]
        for each in body(typical)
        for arn in each["properties"].get("alarms", ())
    }
    made = typical.properties_of("AWS::CloudWatch::Alarm")
    assert metrics == {each["AlarmName"] for each in made}


def test_an_expression_reads_the_metrics_beside_it(typical: Synthesised) -> None:
    """METRICS("m") are those whose ids have an m."""
    for widget in body(typical):
        listed = widget["properties"].get("metrics", ())
        ids = [each[-1]["id"] for each in listed if isinstance(each[-1], dict) and "id" in each[-1]]
        for each in listed:
            for part in re.findall(
                r'METRICS\("(\w+)"\)',
                each[0].get("expression", "") if isinstance(each[0], dict) else "",
            ):
                assert [one for one in ids if part in one], (widget["properties"]["title"], part)


def test_dashboard_is_made_only_if_configured(make: Make) -> None:
    assert not make(TYPICAL).of_type("AWS::CloudWatch::Dashboard")
