"""The metrics of CloudWatch that a scan puts if asked."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Scan, parse
from bucketcast.state.rules import Rules
from glue_jobs.scanner import metrics
from glue_jobs.scanner.usage import Usage
from tests.glue.emulator import Emulator
from tests.unit.moto_aws import TABLE

TAKEN: Final = datetime.now(UTC).replace(microsecond=0)
USAGE: Final = [
    Usage("total", "", 3, bytes=700),
    Usage("prefix", "a/", 3, bytes=700),
    Usage("uploads", "", 2, bytes=5),
]
OPTIONS: Final = {
    "bucket": "uploads",
    "run": "-",
    "state": "-",
    "ingress": "-",
    "table": TABLE,
    "history": "-",
    "retention": "1d",
    "namespace": "Here",
}


def settings(**more: str) -> Scan:
    return parse(Scan, [f"--{key}={value}" for key, value in (OPTIONS | more).items()])


def test_what_the_source_tells_is_put_if_asked(aws: Emulator, rules: Rules) -> None:
    assert rules
    cloudwatch = aws.client("cloudwatch")
    metrics.put(settings(), USAGE, TAKEN)
    assert cloudwatch.list_metrics(Namespace="Here")["Metrics"] == []

    metrics.put(settings(usage_metrics="on"), USAGE, TAKEN)
    found = cloudwatch.list_metrics(Namespace="Here")["Metrics"]
    uploads = [{"Name": "bucket", "Value": "uploads"}]
    assert all(metric["Dimensions"] == uploads for metric in found)
    values = {metric["MetricName"]: _last(cloudwatch, metric) for metric in found}
    assert values == {
        "Objects": (3, "Count"),
        "Bytes": (700, "Bytes"),
        "IncompleteUploads": (2, "Count"),
        "IncompleteUploadBytes": (5, "Bytes"),
    }


def test_a_refusal_names_the_option(
    rules: Rules, monkeypatch: pytest.MonkeyPatch, aws: Emulator
) -> None:
    assert rules

    def client(service: str) -> Any:
        return Refusing() if service == "cloudwatch" else aws.client("dynamodb")

    monkeypatch.setattr(metrics, "client", client)
    with pytest.raises(BucketcastError, match=r"^--usage_metrics: Here: .*AccessDenied"):
        metrics.put(settings(usage_metrics="on"), USAGE, TAKEN)


class Refusing:
    def put_metric_data(self, **_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "PutMetricData")


def _last(cloudwatch: Any, metric: Any) -> tuple[float, str]:
    (point,) = cloudwatch.get_metric_statistics(
        **metric,
        StartTime=TAKEN.replace(second=0),
        EndTime=datetime.now(UTC),
        Period=60,
        Statistics=["Maximum"],
    )["Datapoints"]
    return point["Maximum"], point["Unit"]
