"""Buckets with what is wrong, and what their scans found, plotted."""

import re
from typing import Any

import pytest

from tests.scan_results import usage
from tests.unit.console.site import Site
from tests.unit.moto_aws import MotoAws
from tests.unit.pipeline.scans import make_pipeline, put_scan

BIG: Any = {
    "kind": "BigPrefix",
    "key": "<script>alert(1)</script>",
    "state": "new",
    "since": "2026-03-01T12:00:00+00:00",
    "count": 60_000,
    "bytes": None,
}


@pytest.fixture(autouse=True)
def ingress(aws: MotoAws) -> None:
    for name in ("Bucketcast-ingress", "Bucketcast-ingress-dead"):
        aws.sqs.create_queue(QueueName=name)


@pytest.fixture
def pipeline(aws: MotoAws) -> None:
    make_pipeline(aws)


def test_doctor_says_what_is_wrong_and_what_to_do(site: Site, aws: MotoAws) -> None:
    for name in ("webhook-primary", "postgres-main"):
        aws.answers[f"Bucketcast-{name}"] |= {"address": "a", "findings": []}
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-postgres-main-dead"), MessageBody="x")
    page = site.follow("/doctor").text
    assert '<td data-label="check">queue</td>' in page
    assert '<a href="/targets/postgres:main">postgres:main</a>' in page
    assert re.search(r"send them again with `bucketcast dlq redrive`.*\n +bucketcast dlq ls", page)


@pytest.mark.usefixtures("pipeline")
def test_a_buckets_usage_and_findings_are_plotted(site: Site) -> None:
    put_scan("a", "2026-03-01T10:00:00+00:00", 1_000, 4 << 20)
    put_scan("other", "2026-03-01T11:00:00+00:00", 7, 7, prefix="photos/")
    put_scan("b", "2026-03-02T10:00:00+00:00", 500, 8 << 20, numbers={"BigPrefix": {"cleared": 1}})
    found = {"findings": [BIG], "numbers": {"BigPrefix": {"new": 1}}}
    put_scan("c", "2026-03-05T10:00:00+00:00", 250, 1 << 20, **found)
    answer = site.get("/buckets/uploads")
    lines = re.findall(r'<polyline points="([^"]*)"', answer.text)
    assert [line.split() for line in lines] == [
        ["4.0,6.0", "102.0,45.0", "396.0,64.5"],  # objects, by the time of each scan
        ["4.0,45.0", "102.0,6.0", "396.0,74.25"],  # bytes
        ["4.0,84.0", "102.0,84.0", "396.0,6.0"],  # findings
    ]
    assert "Bytes <b>1.0 MiB</b>" in answer.text
    assert "60,000" in answer.text
    assert "&lt;script&gt;" in answer.body
    assert "<script>" not in answer.body
    assert re.findall(r'<a href="/scans/(\w+)">report', answer.text) == ["c", "b", "other", "a"]


@pytest.mark.usefixtures("pipeline")
def test_what_a_source_does_not_list_is_left_out(site: Site) -> None:
    assert "no scans of uploads" in site.get("/buckets/uploads").text
    assert site.get("/scans/a").status == 404
    put_scan("a", "2026-03-01T10:00:00+00:00", 0, 0, usage=[usage("total", "", 9, None)])
    page = site.get("/buckets/uploads").text
    assert "Objects <b>9</b>" in page
    assert "Bytes <b>" not in page
