"""`bucketcast tail`: each line of the logs once, whenever it appears."""

import json
from typing import Any

import pytest

from bucketcast.aws.clients import AwsError
from bucketcast.aws.rules import Rules
from bucketcast.delivery import tracing
from bucketcast.delivery.tracing import Outcomes
from bucketcast.rules import Hit, Rule
from tests.ran import Ran
from tests.unit.aws import MotoAws, log
from tests.unit.cli.conftest import Run
from tests.unit.conftest import Watch
from tests.unit.made import event

WEBHOOK, POSTGRES = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::main:postgresql"
FUNCTION, INGEST = "Bucketcast-webhook-primary", "Bucketcast-ingest"
HIT = Hit(WEBHOOK, "r1")
CAT, DOG = event("photos/cat.jpg"), event("photos/dog.jpg", bucket="dogs")


def received(*events: Any, hits: tuple[Hit, ...] = (HIT,)) -> Any:
    return tracing.received([(one, hits) for one in events])


def delivered(*events: Any) -> Any:
    return tracing.dispatched(WEBHOOK, Outcomes(delivered=list(events)))


@pytest.fixture(autouse=True)
def rules(aws: MotoAws) -> None:
    """Both buckets have rules, by which their names are known."""
    for bucket in ("uploads", "dogs"):
        rule = Rule(bucket=bucket, arn=WEBHOOK, events=("s3:ObjectCreated:Put",))
        Rules(aws.outputs["RulesTable"], aws.dynamodb).add(rule)


@pytest.fixture
def follow(run: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run it with these actions between the polls, and interrupt it after the last."""

    def follow(*words: str, between: tuple[Any, ...] = ()) -> Ran:
        left = list(between)

        def sleep(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr("bucketcast.cli.tail.time.sleep", sleep)
        return run("tail", *words)

    return follow


def whats(ran: Ran) -> list[tuple[str, str]]:
    assert ran.code == 0, ran.err
    found = [json.loads(line) for line in ran.out.splitlines()]
    return [(each["bucket"], each["what"]) for each in found]


def test_each_line_is_shown_once_however_late_it_appears(follow: Any) -> None:
    log(INGEST, received(CAT), ago=20)
    log(FUNCTION, delivered(CAT), ago=15)
    late = lambda: log(INGEST, received(CAT), ago=40)  # noqa: E731 - read again and again below
    same = lambda: log(FUNCTION, delivered(CAT), ago=15)  # noqa: E731
    nothing = lambda: None  # noqa: E731
    ran = follow("--json", between=(nothing, late, nothing, same, nothing))
    printed = [what for _, what in whats(ran)]
    assert printed == ["received", "queued", "delivered", "received", "queued", "delivered"]


def test_lines_without_ids_are_told_apart(
    aws: MotoAws, follow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of the local AWS, also where the same was logged twice in a millisecond."""
    log(INGEST, [*received(CAT), *received(CAT)], ago=20)
    read = aws.logs.filter_log_events

    def without_ids(**call: Any) -> Any:
        found = read(**call)
        return {"events": [each | {"eventId": None} for each in found["events"]]}

    monkeypatch.setattr(aws.logs, "filter_log_events", without_ids)
    assert len(whats(follow("--json", between=(lambda: None,)))) == 4


def test_people_see_a_line_for_each_fate(follow: Any) -> None:
    log(INGEST, received(CAT), ago=20)
    log(INGEST, received(DOG, hits=()), ago=19)
    log(FUNCTION, tracing.dispatched(WEBHOOK, Outcomes(retried={"\x1b[2J503": [CAT]})), ago=9)
    log(FUNCTION, tracing.dispatched(WEBHOOK, Outcomes(dead={"HTTP 410": [CAT]})), ago=8)
    lines = follow().out.splitlines()
    assert [line.split()[2:] for line in lines] == [
        ["queued", "uploads", WEBHOOK, "by", "rule", "r1"],
        ["received", "dogs", "no", "rule", "matches"],
        ["retried", "uploads", WEBHOOK, "\\x1b[2J503"],
        ["dead", "uploads", WEBHOOK, "HTTP", "410"],
    ]


def test_a_bucket_and_a_target_select(follow: Any) -> None:
    log(INGEST, received(CAT, DOG, hits=(HIT, Hit(POSTGRES, "r2"))))
    log(FUNCTION, delivered(CAT, DOG), ago=5)
    assert whats(follow("dogs", "--json")) == [
        ("dogs", what) for what in ("received", "queued", "queued", "delivered")
    ]
    ran = follow("dogs", "--target", "postgres:main", "--json")
    assert whats(ran) == [("dogs", "queued")]


def test_the_bucket_of_an_event_that_came_earlier_is_known(follow: Any) -> None:
    log(INGEST, received(DOG), ago=600)
    log(FUNCTION, delivered(DOG), ago=5)
    log(FUNCTION, delivered(CAT), ago=5)
    assert whats(follow("dogs", "--json")) == [("dogs", "delivered")]


def test_a_target_that_logs_before_ingest_waits_for_its_bucket(follow: Any) -> None:
    log(FUNCTION, delivered(CAT), ago=1)
    later = lambda: log(INGEST, received(CAT), ago=0)  # noqa: E731
    assert whats(follow("uploads", "--json", between=(later,))) == [
        ("uploads", "delivered"),
        ("uploads", "received"),
        ("uploads", "queued"),
    ]


def test_silence_of_aws_is_noted_and_nothing_is_lost(
    aws: MotoAws, follow: Any, watch: Watch
) -> None:
    log(INGEST, received(CAT), ago=20)
    watch(aws.logs, "filter_log_events", AwsError("no answer", silent=True))
    ran = follow("--json", between=(lambda: None,))
    assert "note: no answer; trying again" in ran.err
    assert [what for _, what in whats(ran)] == ["received", "queued"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a/b",), "invalid bucket name"),
        (("--since", "5"), "a duration with its unit"),
        (("--target", "x"), "invalid target"),
    ],
)
def test_wrong_words_are_refused(run: Run, words: tuple[str, ...], expected: str) -> None:
    ran = run("tail", *words)
    assert ran.code == 2
    assert expected in ran.err


def test_an_unknown_target_is_reported(run: Run) -> None:
    ran = run("tail", "--target", "webhook:nobody")
    assert (ran.code, "no target" in ran.err) == (1, True)
