import json

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.unit.cli.conftest import Run, cells
from tests.unit.fake_aws import FakeAws, refusal

WEBHOOK = "arn:minio:sqs::primary:webhook"


def test_ls_counts_messages_and_says_who_is_online(run: Run, aws: FakeAws) -> None:
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-webhook-primary"), MessageBody="one")
    aws.sqs.send_message(
        QueueUrl=aws.queue("Bucketcast-webhook-primary"), MessageBody="two", DelaySeconds=60
    )
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-webhook-primary-dead"), MessageBody="x")
    aws.answers["Bucketcast-webhook-primary"] = {
        "online": False,
        "why": "connection refused",
        "where": "http://example.org/",
    }
    document = run("target", "ls", "--json").document
    assert document["targets"][1] == {
        "arn": WEBHOOK,
        "kind": "webhook",
        "id": "primary",
        "enabled": True,
        "made": "by the deploy",
        "where": "http://example.org/",
        "online": False,
        "why": "connection refused",
        "waiting": 2,
        "dead": 1,
    }
    assert cells(run("target", "ls").out) == [
        ["ARN", "WHERE", "ONLINE", "MESSAGES WAITING", "MESSAGES DEAD"],
        ["arn:minio:sqs::main:postgresql", "postgres.example.org", "yes", "0", "0"],
        [WEBHOOK, "http://example.org/", "no: connection refused", "2", "1"],
    ]


@pytest.mark.parametrize(
    ("answer", "online", "why"),
    [
        ({"errorMessage": "Task timed out", "errorType": "X"}, False, "failed: Task timed out"),
        (ReadTimeoutError(endpoint_url="x"), False, "did not answer in time"),
        (refusal("AccessDeniedException", "Invoke"), None, "not allowed: Invoke"),
        (refusal("ResourceNotFoundException", "Invoke"), None, "ResourceNotFoundException"),
    ],
)
def test_a_function_that_does_not_answer_keeps_no_other_from_it(
    run: Run, aws: FakeAws, answer: object, online: object, why: str
) -> None:
    aws.answers["Bucketcast-webhook-primary"] = answer
    ran = run("target", "ls", "--json")
    assert ran.code == 0
    other, asked = ran.document["targets"]
    assert other["online"] is True
    assert (asked["online"], asked["waiting"]) == (online, 0)
    assert why in asked["why"]


def test_a_queue_that_is_gone_is_no_reason_to_fail(run: Run, aws: FakeAws) -> None:
    aws.sqs.delete_queue(QueueUrl=aws.queue("Bucketcast-webhook-primary"))
    document = run("target", "ls", "--json").document
    assert document["targets"][1]["waiting"] is None
    assert "NonExistentQueue" in document["targets"][1]["why"]
    assert "?" in run("target", "ls").out


def test_a_stack_without_targets_says_so(run: Run, aws: FakeAws) -> None:
    for key in [key for key in aws.outputs if key.startswith("Target")]:
        del aws.outputs[key]
    ran = run("target", "ls")
    assert (ran.code, ran.out) == (0, "")
    assert "has no target" in ran.err


def test_ls_says_which_target_is_off(run: Run, aws: FakeAws) -> None:
    (key,) = [name for name, text in aws.outputs.items() if WEBHOOK in text]
    aws.outputs[key] = json.dumps({**json.loads(aws.outputs[key]), "enabled": False})
    assert "off: its events wait" in run("target", "ls").out
    assert run("target", "ls", "--json").document["targets"][1]["enabled"] is False
