"""`bucketcast cost`: an estimate from the configuration, and what CloudWatch measured."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.aws import MotoAws
from tests.unit.cli.conftest import Run, cells

ARN = "arn:minio:sqs::primary:webhook"
CONFIG = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "bucketcast.toml"
    path.write_text(CONFIG)
    return str(path)


def test_an_estimate_is_shown_by_service_and_target(run: Run, file: str) -> None:
    ran = run("cost", "--events-per-day", "864000", "--file", file)
    assert ran.code == 0
    rows = cells(ran.out)
    assert ["SQS", "its queue", ARN, "103,680,000", "41.47", "1.60"] in rows
    assert rows[-1][:2] == ["TOTAL", "25,920,000 events"]
    assert "saves" in ran.err
    assert "throughput" in ran.err
    document = run("cost", "--events-per-day", "864000", "--file", file, "--json").document
    assert document["region"] == "us-east-1"
    assert document["dollars_a_month"] == pytest.approx(
        sum(line["dollars"] for line in document["lines"]), abs=0.01
    )
    assert sum(document["by_service"].values()) == pytest.approx(
        sum(document["by_target"].values()), abs=0.01
    )
    assert {"date", "source"} < document["lines"][0]["price"].keys()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "one of --events-per-day, --measured and --compare is needed"),
        (["--measured", "--events-per-day", "1"], "one of --events-per-day, --measured"),
        (["--measured", "--since", "30m"], "allowed is 1h or more"),
        (["--events-per-day", "0"], "0.0 is not in the range"),
        (["--events-per-day", "1", "--share", "webhook:other=5"], f"available: {ARN}"),
        (["--events-per-day", "1", "--share", "webhook:primary=500"], "0 to 100"),
    ],
)
def test_misuse_is_reported(run: Run, file: str, words: list[str], expected: str) -> None:
    ran = run("cost", "--file", file, *words)
    assert ran.code == 2
    assert expected in ran.err


def test_the_docs_show_the_comparison(run: Run) -> None:
    text = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
    assert f"$ bucketcast cost --compare\n{run('cost', '--compare').out}```" in text


def test_missing_metrics_are_explained(run: Run) -> None:
    ran = run("cost", "--measured")
    assert ran.code == 1
    assert "CloudWatch has no metrics of the queues of Bucketcast" in ran.err


def test_metrics_of_functions_alone_make_no_bill(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local AWS writes Lambda's metrics and none of SQS."""
    _measure(aws, monkeypatch, {"Bucketcast-ingest": {"Invocations": 1e5, "Duration": 2e6}})
    ran = run("cost", "--measured")
    assert ran.code == 1
    assert "CloudWatch has no metrics of the queues of Bucketcast" in ran.err


def test_what_was_measured_makes_a_month(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day of a million events in batches of ten, of which the webhook got all."""
    ingest = {"Invocations": 1e5, "Duration": 2e6}
    found = {
        "Bucketcast-ingress": {"NumberOfMessagesSent": 1e6, "NumberOfMessagesReceived": 1e6},
        "Bucketcast-ingest": ingest,
        "Bucketcast-webhook-primary": {
            "NumberOfMessagesSent": 1e5,
            "NumberOfMessagesReceived": 1e5,
            "NumberOfEmptyReceives": 1e4,
            "Invocations": 2e4,
            "Duration": 1e6,
        },
        "/aws/lambda/Bucketcast-ingest": {"IncomingBytes": 1e9},
    }
    requests = _measure(aws, monkeypatch, found)
    document = run("cost", "--measured", "--since", "24h", "--json").document
    assert document["events_a_month"] == 30_000_000
    lines = {(each["what"], each["target"]): each["dollars"] for each in document["lines"]}
    # A day: a million sent by S3, 100,000 calls to receive and as many to delete.
    assert lines["the ingress queue", ""] == pytest.approx(30 * 1.2e6 * 4e-7)
    # 100,000 sent; 20,000 calls to receive, keep and delete.
    assert lines["its queue", ARN] == pytest.approx(30 * 1.6e5 * 4e-7)
    assert lines["calls", ARN] == pytest.approx(30 * 2e4 * 2e-7)
    assert lines["time", ARN] == pytest.approx(30 * 1e3 / 2 * 0.0000133334, rel=1e-4)
    assert lines["logs", ""] == pytest.approx(15.0)
    (call,) = requests
    assert call["EndTime"] - call["StartTime"] == timedelta(days=1)
    assert call["EndTime"] <= datetime.now(UTC)


def _measure(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch, found: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Make CloudWatch answer with what was found, by the metrics' one dimension.

    Returns:
        The calls, as they come.
    """
    requests: list[dict[str, Any]] = []

    def paginate(**call: Any) -> Any:
        requests.append(call)
        aws.cloudwatch.get_metric_data(**call)  # boto3 checks what it is given
        results = []
        for each in call["MetricDataQueries"]:
            metric = each["MetricStat"]["Metric"]
            value = found.get(metric["Dimensions"][0]["Value"], {}).get(metric["MetricName"], 0)
            results.append({"Id": each["Id"], "Values": [value / 2, value / 2]})
        yield {"MetricDataResults": results[:3]}
        yield {"MetricDataResults": results[3:]}

    aws.outputs["IngressQueueUrl"] = aws.queue("Bucketcast-webhook-primary").replace(
        "webhook-primary", "ingress"
    )
    monkeypatch.setattr(
        aws.cloudwatch,
        "get_paginator",
        lambda _: type("Pages", (), {"paginate": staticmethod(paginate)}),
    )
    return requests
