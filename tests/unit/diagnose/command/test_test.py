"""`bucketcast test`: a marked event to one target, and what became of it."""

import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import msgspec
import pytest

from bucketcast import sources
from bucketcast.delivery import tracing
from bucketcast.delivery.queue import Queue
from bucketcast.delivery.tracing import Outcomes, Try
from bucketcast.destination import Destination
from bucketcast.diagnose.aws import logs
from bucketcast.diagnose.command import test
from bucketcast.event import Event
from bucketcast.ingest.routing import ADDRESSED
from bucketcast.rules import Hit
from tests.unit.conftest import Run
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure, log


class Deployment:
    """Takes what is sent, and logs as ingest and dispatch would."""

    def __init__(self, aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> None:
        self.aws = aws
        self.outcomes: Callable[[list[Event]], Outcomes] = lambda events: Outcomes({1: events})
        self.sent: list[Event] = []
        self.to: set[str] = set()
        self.received: list[str] = []
        self.reads_before_ingest_logs = 0.0
        self._read = logs.lines
        monkeypatch.setattr(test, "PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(logs, "lines", self._lines)

    def _lines(self, *asked: Any) -> Iterator[tracing.Line]:
        if self.reads_before_ingest_logs <= 0:
            log("Bucketcast-ingest", self.received, ago=-0.2)
            self.received = []
        self.reads_before_ingest_logs -= 1
        return self._read(*asked)

    def _send(self, messages: Any) -> dict[int, str]:
        found = [event for each in messages for event in sources.events(each.body)]
        self.sent += found
        self.to |= {each.history.to for each in messages}
        (arn,) = self.to
        now = round(time.time() * 1_000)
        matches = [(event, (Hit(Destination.of(arn), ADDRESSED),)) for event in found]
        self.received += tracing.received(matches, now + 50)
        function = "Bucketcast-webhook-primary" if arn == WEBHOOK else "Bucketcast-postgres-main"
        log(function, tracing.dispatched(arn, self.outcomes(found), now + 100), ago=-0.1)
        return {}


@pytest.fixture
def deployment(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    made = Deployment(aws, monkeypatch)
    monkeypatch.setattr(Queue, "send", lambda _, messages: made._send(messages))
    return made


def test_event_is_marked_and_sent_to_its_target_only(run: Run, deployment: Deployment) -> None:
    ran = run("test", "webhook:primary")
    assert ran.code == 0, ran.err
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        "STEP", "sent", "received", "queued", "delivered",
    ]  # fmt: skip
    (event,) = deployment.sent
    assert deployment.to == {WEBHOOK}
    assert (event.name, event.bucket) == ("s3:ObjectCreated:Put", "bucketcast-test")
    assert event.principal == "bucketcast-test"
    assert event.key.startswith("bucketcast-test/")
    assert event.request_id.startswith("bucketcast-test-")
    record = msgspec.json.decode(event.record)
    assert record["userIdentity"] == {"principalId": "bucketcast-test"}


def test_all_steps_are_shown_if_ingest_logs_long_after_the_target(
    run: Run, deployment: Deployment
) -> None:
    deployment.reads_before_ingest_logs = 20
    document = run("test", WEBHOOK, "--json").document
    assert (document["status"], document["delivered"]) == ("success", 1)
    (one,) = document["events"]
    assert [step["what"] for step in one["steps"]] == ["received", "queued", "delivered"]
    assert one["event"] == tracing.trace_id(*deployment.sent)


def test_what_ingest_has_not_logged_in_time_is_said(run: Run, deployment: Deployment) -> None:
    deployment.reads_before_ingest_logs = inf
    noted = run("test", WEBHOOK, "--timeout", "50ms").said(0)
    assert "ingest's log does not show all of them yet" in noted


def test_many_events_are_measured(run: Run, deployment: Deployment) -> None:
    ran = run("test", WEBHOOK, "--count", "120", "--json")
    document = ran.document
    assert (document["count"], document["delivered"]) == (120, 120)
    assert 0 < document["p50_ms"] <= document["p99_ms"]
    assert document["per_second"] > 0
    assert len({event.id for event in deployment.sent}) == 120
    ran = run("test", WEBHOOK, "--count", "20")
    assert ran.out.startswith("20 of 20 delivered, ")


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        (
            lambda events: Outcomes(dead={("answer", "HTTP 422"): [*map(Try, events)]}),
            "dead-lettered: HTTP 422",
        ),
        (
            lambda events: Outcomes(retried={("answer", "HTTP 503"): [*map(Try, events)]}),
            "1 of 1 not delivered within 0.05s: not delivered yet, and tried again: HTTP 503",
        ),
        (lambda _: Outcomes(), "queued, but Bucketcast-webhook-primary has not tried it"),
    ],
)
def test_undelivered_event_exits_with_1_and_the_reason(
    run: Run, deployment: Deployment, outcomes: Any, why: str
) -> None:
    deployment.outcomes = outcomes
    assert why in run("test", WEBHOOK, "--timeout", "50ms").said(1)
    document = run("test", WEBHOOK, "--timeout", "50ms", "--json").document
    assert document["status"] == "error"
    assert why in document["error"]
    assert len(document["events"]) == 1


def test_event_that_ingest_has_not_received_is_reported(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aws.outputs
    monkeypatch.setattr(Queue, "send", lambda *_: {})
    assert "ingest has not received it" in run("test", WEBHOOK, "--timeout", "10ms").said(1)


def test_nothing_is_sent_to_a_paused_target(run: Run, deployment: Deployment) -> None:
    assert run("target", "pause", WEBHOOK).code == 0
    refused = run("test", WEBHOOK).said(1)
    assert "webhook:primary is paused since " in refused
    assert "bucketcast target resume webhook:primary" in refused
    assert deployment.sent == []


def test_mirror_gets_a_deletion_and_never_a_put(run: Run, deployment: Deployment) -> None:
    configure("Bucketcast-postgres-main", format="namespace")
    assert run("test", "postgres:main").code == 0
    assert [event.name for event in deployment.sent] == ["s3:ObjectRemoved:Delete"]
