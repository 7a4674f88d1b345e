"""Pausing and resuming a target: what the table says, and what the command does."""

import json

import pytest

from bucketcast.state.breakers import Breakers
from tests.unit.conftest import Run
from tests.unit.moto_aws import TABLE, MotoAws, refusal

HOOK, NAME = "arn:minio:sqs::primary:webhook", "Bucketcast-webhook-primary"


def paused(aws: MotoAws) -> int:
    outage = Breakers(TABLE, lambda: aws.dynamodb).of(HOOK).read()
    return outage.paused if outage else 0


def test_pause_and_resume_may_be_repeated(run: Run, aws: MotoAws) -> None:
    first = run("target", "pause", HOOK, "--json").document
    assert (first["paused"], first["changed"], first["arn"]) == (True, True, HOOK)
    since = paused(aws)
    assert since
    again = run("target", "pause", "webhook:primary", "--json").document
    assert again == {**first, "changed": False}
    assert paused(aws) == since
    assert "Already paused since" in run("target", "pause", HOOK).out
    ended = run("target", "resume", HOOK, "--json").document
    assert ended == {
        "status": "success",
        "arn": HOOK,
        "paused": False,
        "since": first["since"],
        "changed": True,
    }
    assert paused(aws) == 0
    ran = run("target", "resume", HOOK)
    assert (ran.code, ran.out) == (0, "webhook:primary is not paused\n")


def test_pause_prints_the_end_of_waiting(run: Run) -> None:
    ran = run("target", "pause", HOOK)
    assert ran.code == 0
    assert "dead-lettered from" in ran.out
    assert "13 days" in ran.out


def test_pause_unseen_by_the_function_is_undone(run: Run, aws: MotoAws) -> None:
    aws.pause_answers[NAME] = {"paused": False}
    ran = run("target", "pause", HOOK)
    assert (ran.code, paused(aws)) == (1, 0)
    assert "gateway endpoint for DynamoDB" in ran.err


def test_pause_without_the_right_to_invoke_is_unconfirmed(run: Run, aws: MotoAws) -> None:
    aws.pause_answers[NAME] = refusal("AccessDeniedException", "Invoke")
    ran = run("target", "pause", HOOK)
    assert ran.code == 0
    assert paused(aws)
    assert "its function did not confirm it" in ran.err


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("arn:minio:sqs::primray:webhook", "did you mean"),
        ("arn:aws:sns:us-east-1::none", "there is no such topic"),
    ],
)
def test_an_unknown_target_is_a_clear_error(run: Run, verb: str, arn: str, expected: str) -> None:
    ran = run("target", verb, arn)
    assert ran.code == 1
    assert expected in ran.err
    assert json.loads(run("target", verb, arn, "--json").out)["status"] == "error"
