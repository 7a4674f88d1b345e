"""The custom resource: what it writes to S3, and that CloudFormation always gets its answer."""

import json
from contextlib import nullcontext
from typing import Any
from unittest.mock import DEFAULT, MagicMock, Mock
from urllib.request import Request

import pytest
from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws import propagation
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.propagation import PAUSE_SECONDS
from bucketcast.notifications.document import part_of
from bucketcast.rules import Rule
from bucketcast.rules.sent_events import Part
from bucketcast.state.rules import Rules
from functions.custom_resources import bucket as custom_bucket
from functions.custom_resources import response
from functions.custom_resources.response import RESERVE, sleep_until
from tests.unit.conftest import Watch
from tests.unit.moto_aws import (
    ACCOUNT,
    ENTRY,
    INGRESS_ARN,
    REGION,
    make_bucket,
    notification,
    notify,
    refusal,
)
from tests.unit.samples import lambda_context

apply: Any = custom_bucket.apply  # the tests hand in fakes


def theirs(event: str) -> dict[str, Any]:
    """Return a notification configuration of somebody else's, for this event."""
    entry = {"Id": "theirs", "TopicArn": f"arn:aws:sns:{REGION}:{ACCOUNT}:t", "Events": [event]}
    return {"TopicConfigurations": [entry]}


OTHERS = theirs("s3:x")
LETS_S3 = (
    '{"Statement": {"Effect": "Allow", "Action": "sqs:Send*", "Resource": "*", '
    '"Principal": {"Service": "s3.amazonaws.com"}}}'
)
CONTEXT = lambda_context()


@pytest.fixture
def put(s3: Any, watch: Watch) -> Mock:
    """Every write of the notifications of the bucket uploads, which has none at first."""
    make_bucket("uploads")
    return watch(s3, "put_bucket_notification_configuration")


@pytest.fixture
def function(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The handler's module; it makes its client on import, which needs a region."""
    from functions.custom_resources import handler  # noqa: PLC0415 - after the region is set

    monkeypatch.setattr(handler, "_s3", s3)
    return handler


def properties(via: str = "sqs") -> dict[str, str]:
    return {
        "Account": ACCOUNT,
        "Bucket": "uploads",
        "Id": "Bucketcast-ingress",
        "QueueArn": INGRESS_ARN,
        "Via": via,
    }


def request(kind: str, properties: Any, before: Any = None) -> dict[str, Any]:
    old = {"OldResourceProperties": before} if before else {}
    fields = {"RequestType": kind, "ResourceProperties": properties, "RequestId": "r"}
    return {**fields, "StackId": "stack", **old}


def in_state(state: str, dynamodb: Any) -> Any:
    """Return what makes the clients, of a stack in this state."""
    cloudformation = Mock()
    cloudformation.describe_stacks.return_value = {"Stacks": [{"StackStatus": state}]}
    return {"dynamodb": dynamodb, "cloudformation": cloudformation}.__getitem__


def no_sleep(_: float) -> None:
    pass


def test_create_adds_our_entry_and_delete_removes_it(s3: Any, put: Mock) -> None:
    notify("uploads", **OTHERS)
    apply(request("Create", properties()), s3, sleep=no_sleep)
    assert notification("uploads")["QueueConfigurations"] == [ENTRY]
    assert put.call_args.kwargs["ExpectedBucketOwner"] == ACCOUNT
    apply(request("Delete", properties()), s3, sleep=no_sleep)
    assert notification("uploads") == OTHERS
    # A destination of somebody else that is gone must not keep our entry in.
    assert put.call_args.kwargs["SkipDestinationValidation"] is True


def test_a_part_is_sent_until_the_configuration_widens_it(s3: Any) -> None:
    make_bucket("uploads")
    narrow = {**properties(), "Part": {"events": ["s3:ObjectCreated:*"], "prefix": "in/"}}
    for action in ("Create", "Check"):
        apply(request(action, narrow), s3, sleep=no_sleep)
    (entry,) = notification("uploads")["QueueConfigurations"]
    assert part_of(entry) == Part.of(["s3:ObjectCreated:*"], "in/")
    with pytest.raises(BucketcastError, match="another tool has changed"):
        apply(request("Check", properties()), s3, sleep=no_sleep)
    apply(request("Update", properties(), narrow), s3, sleep=no_sleep)
    assert notification("uploads")["QueueConfigurations"] == [ENTRY]
    apply(request("Check", narrow), s3, sleep=no_sleep)


def test_a_deploy_does_not_take_from_rules_what_they_ask_for(
    s3: Any, dynamodb: Any, state_table: str
) -> None:
    make_bucket("uploads")
    ours = {**properties("both"), "StateTable": state_table}
    Rules(state_table, dynamodb).add(Rule(bucket="uploads", arn="a", events=("s3:Replication:*",)))
    clients = in_state("UPDATE_IN_PROGRESS", dynamodb)
    apply(request("Create", ours), s3, clients, no_sleep)
    before, narrow = notification("uploads"), {**ours, "Via": "eventbridge"}
    for kind in ("Update", "Check"):
        with pytest.raises(BucketcastError, match=r'write via = "both" into .bucket.uploads'):
            apply(request(kind, narrow, ours), s3, clients, no_sleep)
    assert notification("uploads") == before
    apply(request("Update", narrow, ours), s3, in_state("ROLLBACK_IN_PROGRESS", dynamodb), no_sleep)


@pytest.mark.parametrize(
    "refusals",
    [
        # The queue's policy is not in effect everywhere yet.
        [refusal("AccessDenied"), refusal("InvalidArgument", message="Unable to validate the")],
        # Somebody else writes to the bucket.
        [refusal("OperationAborted")],
    ],
)
def test_refusals_that_pass_are_waited_for(s3: Any, put: Mock, refusals: list[Exception]) -> None:
    pauses = list[float]()
    put.side_effect = [*refusals, DEFAULT]
    apply(request("Create", properties()), s3, sleep=pauses.append)
    assert len(pauses) == len(refusals)
    assert notification("uploads") == {"QueueConfigurations": [ENTRY]}


@pytest.mark.parametrize(
    ("others", "key", "policy", "expected"),
    [
        (OTHERS, "", LETS_S3, ""),
        (OTHERS, "", LETS_S3.replace("s3", "sns"), "the policy of .* does not let s3"),
        (OTHERS, "", LETS_S3.replace("Allow", "Deny"), "the policy of .* may not let s3"),
        ({}, "", LETS_S3, "Unable to validate"),
        (OTHERS, "k", LETS_S3, "Unable to validate"),
    ],
)
def test_a_destination_of_another_entry_that_is_gone_blocks_no_deploy(  # noqa: PLR0913
    s3: Any,
    put: Mock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    others: dict[str, Any],
    key: str,
    policy: str,
    expected: str,
) -> None:
    """S3 tries them all at each write, and names none: it may be our own queue."""
    sqs = MagicMock()
    sqs.get_queue_attributes.return_value = {"Attributes": {"Policy": policy}}
    clients = {"sqs": sqs}.__getitem__
    notify("uploads", **others)

    def refuse(**words: Any) -> Any:
        if words["SkipDestinationValidation"]:
            return DEFAULT
        raise refusal("InvalidArgument", message="Unable to validate the following destination")

    put.side_effect = refuse
    monkeypatch.setattr(propagation, "MAX_SECONDS", 0)
    asked = {**properties(), "Key": key}
    if expected:
        with pytest.raises((BucketcastError, ClientError), match=expected):
            apply(request("Create", asked), s3, clients, no_sleep)
        return
    apply(request("Create", asked), s3, clients, no_sleep)
    assert notification("uploads")["QueueConfigurations"] == [ENTRY]
    assert "'theirs' to arn:aws:sns:" in caplog.text


class Fresh:
    """DynamoDB where the right to each of the calls is not known the first time."""

    def __init__(self, dynamodb: Any) -> None:
        self._dynamodb = dynamodb
        self.refused: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in self.refused:
            return getattr(self._dynamodb, name)
        self.refused.append(name)

        def refuse(*_: Any, **__: Any) -> None:
            raise refusal("AccessDeniedException")

        return refuse


@pytest.mark.usefixtures("put")
def test_a_right_to_the_table_that_is_not_known_yet_is_waited_for(
    s3: Any, dynamodb: Any, state_table: str
) -> None:
    ours, pauses = {**properties(), "StateTable": state_table}, list[float]()
    made = Fresh(dynamodb)
    apply(request("Create", ours), s3, lambda _: made, pauses.append)
    assert made.refused == ["get_paginator", "get_item", "put_item"]
    assert AttachmentTimes(state_table, dynamodb).of("uploads").since
    gone = Fresh(dynamodb)
    apply(request("Delete", ours), s3, lambda _: gone, pauses.append)
    assert gone.refused == ["get_item", "delete_item"]
    assert not AttachmentTimes(state_table, dynamodb).of("uploads").since
    assert notification("uploads") == {}
    assert pauses == [PAUSE_SECONDS] * 5


def test_a_bucket_that_is_gone_is_forgotten(s3: Any, dynamodb: Any, state_table: str) -> None:
    times = AttachmentTimes(state_table, dynamodb)
    times.put("uploads", Attachment(1.0))
    ours = {**properties(), "StateTable": state_table}
    apply(request("Delete", ours), s3, in_state("UPDATE_COMPLETE", dynamodb), no_sleep)
    assert not times.of("uploads").since


KEYS = [f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{name}" for name in ("old", "new")]


@pytest.mark.parametrize(
    ("before", "after", "state", "validated"),
    [
        ({}, {"Key": KEYS[1]}, "UPDATE_IN_PROGRESS", True),
        ({"Key": KEYS[0]}, {"Key": KEYS[1]}, "UPDATE_IN_PROGRESS", True),
        ({"Key": KEYS[1]}, {"Key": KEYS[1]}, "UPDATE_IN_PROGRESS", False),
        ({"Key": KEYS[0]}, {}, "UPDATE_IN_PROGRESS", False),
        # The queue may have its old key only after this request.
        ({"Key": KEYS[0]}, {"Key": KEYS[1]}, "UPDATE_ROLLBACK_IN_PROGRESS", False),
    ],
)
def test_s3_tries_a_new_key_of_the_queue_once_it_is_in_effect(
    s3: Any,
    put: Mock,
    before: dict[str, str],
    after: dict[str, str],
    state: str,
    *,
    validated: bool,
) -> None:
    notify("uploads", **OTHERS, QueueConfigurations=[ENTRY])
    stored = notification("uploads")
    put.reset_mock()
    pauses = list[float]()
    update = request("Update", properties() | after, properties() | before)
    apply(update, s3, in_state(state, None), pauses.append)
    assert (put.call_count, pauses) == ((1, [60.0]) if validated else (0, []))
    assert notification("uploads") == stored
    if validated:
        assert put.call_args.kwargs["SkipDestinationValidation"] is False


def test_a_key_that_s3_may_not_use_fails_the_deploy(s3: Any, put: Mock) -> None:
    notify("uploads", QueueConfigurations=[ENTRY])
    put.side_effect = refusal("InvalidArgument", message="Unable to find the destination")
    update = request("Update", properties() | {"Key": KEYS[1]}, properties())
    with pytest.raises(BucketcastError, match=r"new kms_key.*complete the key's policy"):
        apply(update, s3, in_state("UPDATE_IN_PROGRESS", None), no_sleep)
    assert notification("uploads") == {"QueueConfigurations": [ENTRY]}


def test_an_error_that_does_not_pass_is_raised_at_once(s3: Any) -> None:
    pauses = list[float]()
    with pytest.raises(ClientError, match="NoSuchBucket"):
        apply(request("Create", properties()), s3, sleep=pauses.append)
    assert not pauses


@pytest.mark.parametrize(
    ("attached", "state", "stays"),
    [
        ({"sqs"}, "UPDATE_ROLLBACK_IN_PROGRESS", True),
        ({"eventbridge"}, "UPDATE_ROLLBACK_IN_PROGRESS", False),
        ({"sqs"}, "UPDATE_COMPLETE", False),
    ],
)
def test_rolled_back_deploy_leaves_what_was_attached_before(
    s3: Any, dynamodb: Any, state_table: str, attached: set[str], state: str, *, stays: bool
) -> None:
    """CloudFormation deletes what the deploy had created, as it does where a bucket goes."""
    make_bucket("uploads")
    times = AttachmentTimes(state_table, dynamodb)
    times.put("uploads", Attachment(1_000.0, frozenset(attached)))
    ours = {**properties(), "StateTable": state_table}
    for kind in ("Create", "Delete", "Delete"):  # each may come twice
        apply(request(kind, ours), s3, in_state(state, dynamodb), no_sleep)
    assert notification("uploads") == ({"QueueConfigurations": [ENTRY]} if stays else {})
    assert bool(times.of("uploads").since) == ("ROLLBACK" in state)


class Answers:
    """Takes the responses to CloudFormation; refuses the first `refusals` times."""

    url = "https://cloudformation.example/answer?signature=x"

    def __init__(self) -> None:
        self.refusals = 0
        self.taken: list[dict[str, Any]] = []

    def __call__(self, put: Request, timeout: float) -> Any:  # noqa: ARG002 - as urlopen has it
        self.refusals -= 1
        if self.refusals >= 0:
            raise OSError("503")
        # The address is signed for an empty type.
        sent = (put.get_method(), put.full_url, put.get_header("Content-type"))
        assert sent == ("PUT", self.url, "")
        self.taken.append(json.loads(put.data))  # type: ignore[arg-type]
        return nullcontext()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    made = Answers()
    monkeypatch.setattr("urllib.request.urlopen", made)
    return made


def event(answers: Answers, request: str, **more: Any) -> dict[str, Any]:
    return {
        "RequestType": request,
        "ResponseURL": answers.url,
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Notification",
        "ResourceType": "Custom::BucketNotification",
        "ResourceProperties": properties(),
        **more,
    }


@pytest.mark.usefixtures("put")
def test_success_is_answered(function: Any, answers: Answers) -> None:
    function.handler(event(answers, "Create"), CONTEXT)
    assert answers.taken == [
        {
            "Status": "SUCCESS",
            "Reason": f"see log stream {CONTEXT.log_stream_name}",
            "PhysicalResourceId": "uploads/Bucketcast-ingress",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "Notification",
        }
    ]


@pytest.mark.usefixtures("put")
def test_failure_is_answered_with_its_reason(function: Any, answers: Answers) -> None:
    notify("uploads", **theirs("s3:ObjectRestore:*"))
    function.handler(event(answers, "Update", PhysicalResourceId="uploads/older"), CONTEXT)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "'theirs'" in answer["Reason"]
    assert answer["PhysicalResourceId"] == "uploads/older"


@pytest.mark.usefixtures("put")
def test_a_look_at_a_bucket_fails_if_another_tool_has_removed_our_entry(
    function: Any, answers: Answers
) -> None:
    for via in ("sqs", "eventbridge", "both"):
        look = event(answers, "Check", ResourceProperties=properties(via))
        function.handler({**look, "RequestType": "Create"}, CONTEXT)
        function.handler(look, CONTEXT)
        notify("uploads")
        command = f"bucketcast bucket attach uploads{' --via eventbridge' * (via != 'sqs')}"
        with pytest.raises(BucketcastError, match=f"run `{command}`"):
            function.handler(look, CONTEXT)
    assert [answer["Status"] for answer in answers.taken] == ["SUCCESS"] * 3, "to CloudFormation"


@pytest.mark.usefixtures("put")
def test_another_bucket_has_another_id(function: Any, answers: Answers) -> None:
    """CloudFormation then asks to remove the old one, which would send its events on."""
    older = "older/Bucketcast-ingress"
    for kind in ("Update", "Delete"):
        function.handler(event(answers, kind, PhysicalResourceId=older), CONTEXT)
    ids = [each["PhysicalResourceId"] for each in answers.taken]
    assert ids == ["uploads/Bucketcast-ingress", older]


def test_even_a_malformed_request_is_answered(function: Any, answers: Answers) -> None:
    function.handler(event(answers, "Create", ResourceProperties={}), CONTEXT)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "Bucket" in answer["Reason"]


def test_timed_out_wait_is_answered_while_there_is_time(
    function: Any, put: Mock, answers: Answers
) -> None:
    """Each wait of a request has its own end, and their sum is longer than the function runs."""
    put.side_effect = refusal("OperationAborted")
    nearly_over = lambda_context(get_remaining_time_in_millis=lambda: RESERVE * 1_000 + 1)
    function.handler(event(answers, "Create"), nearly_over)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "deploy again" in answer["Reason"]


def test_all_waits_of_a_request_share_its_time() -> None:
    slept: list[float] = []
    wait = sleep_until(RESERVE + 100, clock=lambda: sum(slept), sleep=slept.append)
    wait(60)
    wait(40)
    with pytest.raises(BucketcastError, match="deploy again"):
        wait(1)
    assert slept == [60, 40]


@pytest.mark.usefixtures("put")
def test_an_answer_that_is_not_accepted_is_sent_again(
    function: Any, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response, "_PAUSE_SECONDS", 0)
    answers.refusals = 2
    function.handler(event(answers, "Create"), CONTEXT)
    assert len(answers.taken) == 1
