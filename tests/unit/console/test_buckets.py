"""Buckets with what is wrong, and what their scans found, plotted."""

import re
import time
from threading import Event
from typing import Any

import pytest

from bucketcast.console import buckets
from bucketcast.console.answers import new_answer
from tests.unit.console.site import Site
from tests.unit.moto_aws import MotoAws
from tests.unit.pipeline.scans import make_pipeline, put_file, put_scan, usage

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


def checked(site: Site) -> str:
    """Return the page once `doctor` has ended."""
    end = time.monotonic() + 30
    while "data-live" in (page := site.get("/buckets")).body:
        assert time.monotonic() < end, page.text
        time.sleep(0.01)
    return page.text


def test_buckets_are_listed_as_the_command_does(site: Site) -> None:
    page = site.get("/buckets").text
    assert '<a href="/buckets/uploads">uploads</a>' in page
    assert '<td data-label="connected">via sqs' in page
    assert ">bucketcast bucket ls</code>" in page
    assert "Checked" not in page


def test_doctor_runs_on_demand_and_says_what_to_do(site: Site, aws: MotoAws) -> None:
    for name in ("webhook-primary", "postgres-main"):
        aws.answers[f"Bucketcast-{name}"] |= {"address": "a", "findings": []}
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-postgres-main-dead"), MessageBody="x")
    assert site.post("/buckets/check").headers["location"] == "/buckets"
    page = checked(site)
    assert re.search(r"\d+ checks, \d with a finding", page), page
    finding = page.split("dead letters: ")[1].split("</article>")[0]
    assert "send them again with `bucketcast dlq redrive`" in finding
    assert "<pre>bucketcast dlq ls</pre>" in finding


def test_one_check_runs_at_a_time_and_shows_how_far_it_is(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, started = Event(), []

    def wait(answer: Any, *_: Any) -> None:
        started.append(answer)
        answer.note("checking queues …")
        assert go_on.wait(30)
        answer.answer({"checks": 5, "findings": []})

    check = site.state.check
    with monkeypatch.context() as patch:
        patch.setattr(buckets, "run", wait)
        check.run(answer := new_answer(site.state.context))
        check.run(new_answer(site.state.context))
        while not answer.printed:
            time.sleep(0.01)
    page = site.get("/buckets").text
    go_on.set()
    assert "checking queues …" in page
    assert 'data-live="/live/buckets"' in page
    assert "5 checks, none with a finding" in checked(site)
    assert started == [answer]


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
    reports = re.findall(r'<a href="/scans/(\w+)">open', answer.text)
    assert reports == ["c", "b", "other", "a"]
    assert "bucketcast scan uploads --list" in answer.text


@pytest.mark.usefixtures("pipeline")
def test_what_a_source_does_not_list_is_left_out(site: Site) -> None:
    rows = [usage("total", "", 9, None), usage("prefix", "a/", 6, None)]
    put_scan("a", "2026-03-01T10:00:00+00:00", 0, 0, usage=rows)
    page = site.get("/buckets/uploads").text
    assert "Bytes <b>" not in page
    assert "<span>a/</span> <b>8</b>" in page
    assert '<rect width="75.0"' in page


def test_a_bucket_without_scans_or_a_stack_without_jobs_says_so(site: Site, aws: MotoAws) -> None:
    assert "has no jobs: add a table [pipeline]" in site.get("/buckets/uploads").text
    make_pipeline(aws)
    site.state.context.forget()
    page = site.get("/buckets/uploads").text
    assert "<code>bucketcast scan uploads</code> starts one" in page
    assert site.get("/buckets/s3:%2F%2F").status in (400, 404)


@pytest.mark.usefixtures("pipeline")
def test_a_report_opens_apart_from_the_console(site: Site) -> None:
    put_file("a", "report/index.html", "<style>p { color: red }</style><script>alert(1)</script>")
    report = site.get("/scans/a")
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'; style-src 'unsafe-inline';")
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "color: red" in report.body
    gone = site.get("/scans/b")
    assert (gone.status, "unsafe" in gone.headers["content-security-policy"]) == (404, False)
