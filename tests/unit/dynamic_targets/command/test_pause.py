"""Pausing and resuming a target: what the table says, and what the command does."""

import pytest

from bucketcast.state.breakers import Breakers
from tests.unit.conftest import Run
from tests.unit.moto_aws import TABLE, WEBHOOK, MotoAws, refusal

NAME = "Bucketcast-webhook-primary"


def paused(aws: MotoAws) -> int:
    outage = Breakers(TABLE, lambda: aws.dynamodb).of(WEBHOOK).read()
    return outage.paused if outage else 0


def test_pause_and_resume_may_be_repeated(run: Run, aws: MotoAws) -> None:
    first = run("target", "pause", WEBHOOK, "--json").document
    assert (first["paused"], first["changed"], first["arn"]) == (True, True, WEBHOOK)
    since = paused(aws)
    assert since
    again = run("target", "pause", "webhook:primary", "--json").document
    assert again == {**first, "changed": False}
    assert paused(aws) == since
    assert "Already paused since" in run("target", "pause", WEBHOOK).out
    ended = run("target", "resume", WEBHOOK, "--json").document
    assert ended == {
        "status": "success",
        "arn": WEBHOOK,
        "paused": False,
        "since": first["since"],
        "changed": True,
    }
    assert paused(aws) == 0
    ran = run("target", "resume", WEBHOOK)
    assert (ran.code, ran.out) == (0, "webhook:primary is not paused\n")


def test_pause_prints_the_end_of_waiting(run: Run) -> None:
    ran = run("target", "pause", WEBHOOK)
    assert ran.code == 0
    assert "dead-lettered from" in ran.out
    assert "13 days" in ran.out


def test_pause_unseen_by_the_function_is_undone(run: Run, aws: MotoAws) -> None:
    aws.pause_answers[NAME] = {"paused": False}
    assert "gateway endpoint for DynamoDB" in run("target", "pause", WEBHOOK).said(1)
    assert paused(aws) == 0


def test_pause_without_the_right_to_invoke_is_unconfirmed(run: Run, aws: MotoAws) -> None:
    aws.pause_answers[NAME] = refusal("AccessDeniedException", "Invoke")
    assert "its function did not confirm it" in run("target", "pause", WEBHOOK).said(0)
    assert paused(aws)


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("arn:minio:sqs::primray:webhook", "did you mean"),
        ("arn:aws:sns:us-east-1::none", "there is no such topic"),
    ],
)
def test_an_unknown_target_is_a_clear_error(run: Run, verb: str, arn: str, expected: str) -> None:
    assert expected in run("target", verb, arn).said(1)
    assert run("target", verb, arn, "--json").document["status"] == "error"
