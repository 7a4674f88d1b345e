"""`bucketcast trace`: a story out of the functions' logs."""

from collections import Counter
from typing import Any

import pytest

from bucketcast.delivery import tracing
from bucketcast.delivery.tracing import Outcomes, Try
from bucketcast.destination import Destination, ListenerArn
from bucketcast.diagnose.steps import QUEUED, read_steps
from bucketcast.event import Event
from bucketcast.rules import Hit
from tests.unit.conftest import Run
from tests.unit.moto_aws import WEBHOOK, MotoAws, log
from tests.unit.samples import event

FUNCTION = "Bucketcast-webhook-primary"
AT = 1_800_000_000_000
CAT, DOG = event("photos/cat.jpg"), event("photos/dog.jpg")


def received(*events: tuple[Event, tuple[Hit, ...]], at: int = AT) -> Any:
    return tracing.received(events, at)


@pytest.fixture
def delivered_late(aws: MotoAws) -> MotoAws:
    """The cat, which a listener heard too, was retried once and then delivered; the dog died."""
    hit, heard = Hit(Destination.of(WEBHOOK), "r1"), Hit(ListenerArn("one"), "listener")
    log("Bucketcast-ingest", received((CAT, (hit, heard)), (DOG, (hit,))), ago=30)
    retried = Outcomes(retried={("answer", "HTTP 503"): [Try(CAT, 1, 8)]})
    log(FUNCTION, ["START RequestId: 1", '{"level":"INFO"}'], ago=25)
    log(FUNCTION, tracing.dispatched(WEBHOOK, retried, AT + 100), ago=20)
    outcomes = Outcomes({2: [CAT]}, dead={("answer", "HTTP 410"): [Try(DOG)]})
    log(FUNCTION, tracing.dispatched(WEBHOOK, outcomes, AT + 8_200), ago=10)
    return aws


@pytest.mark.usefixtures("delivered_late")
def test_steps_of_a_retried_and_delivered_event(run: Run) -> None:
    document = run("trace", "s3://uploads/photos/cat.jpg", "--json").document
    assert [(step["what"], step["target"], step["why"]) for step in document["steps"]] == [
        ("received", "", ""),
        ("queued", WEBHOOK, "by rule r1"),
        ("retried", WEBHOOK, "HTTP 503"),
        ("delivered", WEBHOOK, ""),
    ]
    assert {step["event"] for step in document["steps"]} == {"09:26:53.589"}
    retried, delivered = document["steps"][2:]
    assert [retried[name] for name in ("try", "stage", "next_try")] == [
        1,
        "answer",
        "2027-01-15T08:00:08.100Z",
    ]
    assert (delivered["try"], delivered["stage"], delivered["next_try"]) == (2, None, None)
    line = run("trace", "s3://uploads/photos/cat.jpg").out.splitlines()[3]
    shown = (
        "2027-01-15T08:00:00.100Z webhook:primary 09:26:53.589 1 answer retried 08:00:08 HTTP 503"
    )
    assert " ".join(line.split()) == shown


def test_steps_are_sorted_by_time(run: Run) -> None:
    """Ingest writes its line last, when a quick target has the event already."""
    other = event("photos/cat.jpg", time="2026-03-14T09:26:54.000Z")
    hits = (Hit(Destination.of(WEBHOOK), "r1"),)
    log(FUNCTION, tracing.dispatched(WEBHOOK, Outcomes({1: [CAT]}), AT + 7), ago=10)
    log(FUNCTION, tracing.dispatched(WEBHOOK, Outcomes({1: [other]}), AT + 6), ago=10)
    log("Bucketcast-ingest", received((CAT, hits), (other, hits)), ago=9)
    steps = run("trace", "s3://uploads/photos/cat.jpg", "--json").document["steps"]
    whats = ["received", "received", "queued", "queued", "delivered", "delivered"]
    assert [step["what"] for step in steps] == whats
    assert [step["time"] for step in steps] == sorted(step["time"] for step in steps)


def test_event_that_matches_no_rule_is_reported(run: Run) -> None:
    log("Bucketcast-ingest", received((CAT, ())))
    assert steps(run) == [("received", "no rule matches")]


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        ("arn:minio:sqs::gone:webhook", "no such target"),
        ("arn:aws:sns:us-east-1::gone", "no such topic, or it has no endpoint"),
    ],
)
def test_an_event_for_a_missing_target_or_topic_is_not_queued(
    run: Run, gone: str, reason: str
) -> None:
    hits = (Hit(Destination.of(gone), "r1"), Hit(Destination.of(WEBHOOK), "r2"))
    log("Bucketcast-ingest", tracing.dropped(gone, [CAT], AT), ago=30)
    assert steps(run) == [("dropped", reason)]
    log("Bucketcast-ingest", received((CAT, hits), (DOG, hits)), ago=29)
    others = ("received", ""), ("dropped", f"{reason}, by rule r1"), ("queued", "by rule r2")
    assert steps(run) == [*others]


def steps(run: Run) -> list[tuple[str, str]]:
    found = run("trace", "s3://uploads/photos/cat.jpg", "--json").document["steps"]
    return [(step["what"], step["why"]) for step in found]


def test_steps_before_since_are_left_out(run: Run) -> None:
    log("Bucketcast-ingest", received((CAT, ())), ago=7200)
    ran = run("trace", "s3://uploads/photos/cat.jpg")
    assert "no log entries found" in ran.err
    assert "received" in run("trace", "s3://uploads/photos/cat.jpg", "--since", "3h").out


def test_trace_line_of_a_thousand_events_fits_a_log_event() -> None:
    many = [event(f"key-{number}") for number in range(12_000)]
    outcomes = Outcomes({1: many}, {("answer", "why"): [*map(Try, many)]})
    lines = list(tracing.dispatched(WEBHOOK, outcomes, AT))
    assert (len(lines), max(map(len, lines)) < 262_144) == (6, True)


@pytest.mark.parametrize("events", [1, 2_000])
def test_trace_lines_of_many_targets_fit_log_events(events: int) -> None:
    """CloudWatch cut the line, and nothing of it could be read."""
    hits = [
        Hit(Destination.of(f"arn:minio:sqs::target-{number}:webhook"), "r" * 8)
        for number in range(60 if events > 1 else 6_000)
    ]
    many = [event(f"key-{number}") for number in range(events)]
    lines = list(tracing.received([(one, hits) for one in many], AT))
    assert max(len(line.encode()) for line in lines) < 262_144
    steps = Counter(
        (step.event, step.target)
        for line in lines
        if (read := tracing.read(line))
        for step in read_steps(read)
        if step.kind == QUEUED
    )
    wanted = Counter((tracing.trace_id(one), hit.to.arn) for one in many for hit in hits)
    assert steps == wanted


def test_trace_lines_contain_no_key() -> None:
    (line,) = received((CAT, ()))
    assert "cat" not in line
    assert "uploads" not in line
