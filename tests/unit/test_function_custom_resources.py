"""The custom resource: what it writes to S3, and that CloudFormation always gets its answer."""

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.attach.notifications import Overlap, Part, part_of
from bucketcast.aws.attach.cutover import Cutover, Cutovers
from bucketcast.aws.propagation import PAUSE_SECONDS
from bucketcast.aws.rules import Rules
from bucketcast.rules import Rule
from bucketcast.rules.trail_selectors import NotSelectableError
from functions.custom_resources import bucket as custom_bucket
from functions.custom_resources import response
from functions.custom_resources.deadline import RESERVE, Deadline, OutOfTimeError
from tests.unit.aws import ACCOUNT, INGRESS_ARN
from tests.unit.fake_buckets import Trails
from tests.unit.made import lambda_context

apply: Any = custom_bucket.apply  # the tests hand in fakes
follow_trail: Any = custom_bucket.follow  # the tests hand in fakes
OTHERS = {
    "TopicConfigurations": [
        {"Id": "theirs", "TopicArn": "arn:aws:sns:::t", "Events": ["s3:ObjectRestore:*"]}
    ]
}
CONTEXT = lambda_context()


class Bucket:
    """A bucket's notifications, behind the two calls of S3 that the function makes."""

    def __init__(self, document: dict[str, Any] | None = None, *errors: ClientError) -> None:
        self.document = copy.deepcopy(document or {})
        self.errors = list(errors)
        self.writes: list[dict[str, Any]] = []

    def get_bucket_notification_configuration(self, **_: Any) -> dict[str, Any]:
        return {**copy.deepcopy(self.document), "ResponseMetadata": {"HTTPStatusCode": 200}}

    def put_bucket_notification_configuration(self, **call: Any) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.document = call["NotificationConfiguration"]
        self.writes.append(call)


@pytest.fixture(scope="module")
def function() -> Any:
    """The handler's module; it makes its client on import, which needs a region."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        from functions.custom_resources import handler  # noqa: PLC0415 - after the region is set
    return handler


def properties(via: str = "sqs") -> dict[str, str]:
    return {
        "Account": ACCOUNT,
        "Bucket": "uploads",
        "Id": "Bucketcast-ingress",
        "QueueArn": INGRESS_ARN,
        "Via": via,
    }


def asked(request: str, properties: Any, before: Any = None) -> dict[str, Any]:
    old = {"OldResourceProperties": before} if before else {}
    return {"RequestType": request, "ResourceProperties": properties, "RequestId": "r", **old}


def error(code: str, message: str = "no") -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": message}}
    return ClientError(answer, "PutBucketNotificationConfiguration")


def no_sleep(_: float) -> None:
    pass


def test_create_adds_our_entry_and_delete_takes_it_out() -> None:
    other = {"TopicConfigurations": [{**OTHERS["TopicConfigurations"][0], "Events": ["s3:x"]}]}
    bucket = Bucket(other)
    apply(asked("Create", properties()), bucket, sleep=no_sleep)
    assert bucket.document["QueueConfigurations"][0]["QueueArn"] == INGRESS_ARN
    assert bucket.writes[0]["ExpectedBucketOwner"] == ACCOUNT
    apply(asked("Delete", properties()), bucket, sleep=no_sleep)
    assert bucket.document == other
    # A destination of somebody else that is gone must not keep our entry in.
    assert bucket.writes[1]["SkipDestinationValidation"] is True


def test_what_is_there_already_is_not_written_again() -> None:
    bucket = Bucket()
    for _ in range(2):
        apply(asked("Create", properties()), bucket, sleep=no_sleep)
    assert len(bucket.writes) == 1


def test_an_overlap_writes_nothing() -> None:
    bucket = Bucket(OTHERS)
    with pytest.raises(Overlap, match="'theirs'"):
        apply(asked("Create", properties()), bucket, sleep=no_sleep)
    assert bucket.document == OTHERS


def test_a_policy_that_is_not_known_yet_is_waited_for() -> None:
    refusals = [
        error("AccessDenied"),
        error("InvalidArgument", "Unable to validate the following destination configurations"),
    ]
    bucket, pauses = Bucket({}, *refusals), list[float]()
    apply(asked("Create", properties()), bucket, sleep=pauses.append)
    assert len(pauses) == 2
    assert bucket.writes


def test_another_writer_of_the_bucket_is_waited_for() -> None:
    bucket, pauses = Bucket({}, error("OperationAborted")), list[float]()
    apply(asked("Create", properties()), bucket, sleep=pauses.append)
    assert (len(pauses), len(bucket.writes)) == (1, 1)


class Fresh:
    """DynamoDB where the right to each of the calls is not known the first time."""

    def __init__(self, dynamodb: Any) -> None:
        self._dynamodb = dynamodb
        self.refused: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in self.refused:
            return getattr(self._dynamodb, name)
        self.refused.append(name)

        def refuse(**_: Any) -> None:
            raise error("AccessDeniedException")

        return refuse


def test_a_right_to_the_table_that_is_not_known_yet_is_waited_for(
    dynamodb: Any, rules_table: str
) -> None:
    ours = {**properties(), "RulesTable": rules_table}
    bucket, pauses = Bucket(), list[float]()
    made = Fresh(dynamodb)
    apply(asked("Create", ours), bucket, lambda _: made, pauses.append)
    assert made.refused == ["get_item", "put_item"]
    assert Cutovers(rules_table, dynamodb).of("uploads")
    gone = Fresh(dynamodb)
    apply(asked("Delete", ours), bucket, lambda _: gone, pauses.append)
    assert gone.refused == ["get_item", "delete_item"]
    assert Cutovers(rules_table, dynamodb).of("uploads") is None
    assert pauses == [PAUSE_SECONDS] * 4


def test_what_waiting_cannot_cure_is_raised_at_once() -> None:
    bucket, pauses = Bucket({}, error("NoSuchBucket")), list[float]()
    with pytest.raises(ClientError):
        apply(asked("Create", properties()), bucket, sleep=pauses.append)
    assert not pauses


@pytest.mark.parametrize(
    ("state", "stays"), [("UPDATE_ROLLBACK_IN_PROGRESS", True), ("UPDATE_COMPLETE", False)]
)
def test_a_deploy_that_is_rolled_back_leaves_what_attach_had_made(
    dynamodb: Any, rules_table: str, state: str, *, stays: bool
) -> None:
    """CloudFormation deletes what the deploy had created, as it does where a bucket goes."""
    attached = Bucket()
    apply(asked("Create", properties()), attached, sleep=no_sleep)
    before = Cutover("sqs", 1_000.0, "attach")
    switches = Cutovers(rules_table, dynamodb)
    switches.put("uploads", before)
    stack = SimpleNamespace(describe_stacks=lambda StackName: {"Stacks": [{"StackStatus": state}]})  # noqa: N803, ARG005 - boto3's
    clients = {"dynamodb": dynamodb, "cloudformation": stack}
    ours = {**properties(), "RulesTable": rules_table}
    bucket = Bucket(attached.document)
    for request in ("Create", "Delete"):
        event = {**asked(request, ours), "StackId": "stack"}
        apply(event, bucket, clients.__getitem__, no_sleep)
    assert (bucket.document == attached.document) is stays
    assert switches.of("uploads") == (before if stays else None)


def taken_over(
    dynamodb: Any, rules_table: str, ways: tuple[str, str], state: str
) -> tuple[Bucket, Cutover | None, list[float]]:
    """A bucket that was attached in one way, deployed in another, and is deleted in that state."""
    attached, deployed = ways
    bucket, switches, pauses = Bucket(), Cutovers(rules_table, dynamodb), list[float]()
    apply(asked("Create", properties(attached)), bucket, sleep=no_sleep)
    switches.put("uploads", Cutover(attached, 1_000.0, "attach"))
    stack = SimpleNamespace(describe_stacks=lambda StackName: {"Stacks": [{"StackStatus": state}]})  # noqa: N803, ARG005 - boto3's
    clients = {"dynamodb": dynamodb, "cloudformation": stack}
    ours = {**properties(deployed), "RulesTable": rules_table, "Overlap": "600"}
    for request in ("Create", "Create", "Delete", "Delete"):  # each may come twice
        event = {**asked(request, ours), "StackId": "stack"}
        apply(event, bucket, clients.__getitem__, pauses.append, lambda: 5_000.0 + sum(pauses))
    return bucket, switches.of("uploads"), pauses


def test_a_bucket_that_was_taken_over_by_another_way_is_attached_again_in_a_roll_back(
    dynamodb: Any, rules_table: str
) -> None:
    """The rule of EventBridge goes after the answer, so both ways are kept until S3 heeds ours."""
    state = "UPDATE_ROLLBACK_IN_PROGRESS"
    bucket, switch, pauses = taken_over(dynamodb, rules_table, ("sqs", "eventbridge"), state)
    (entry,) = bucket.document["QueueConfigurations"]
    assert (entry["Id"], entry["QueueArn"]) == ("Bucketcast-ingress", INGRESS_ARN)
    assert switch == Cutover("sqs", 6_200.0, "attach")
    assert pauses == [600.0, 600.0]


def test_a_part_that_a_deploy_took_over_is_a_part_again_in_a_roll_back(
    dynamodb: Any, rules_table: str
) -> None:
    bucket, switches = Bucket(), Cutovers(rules_table, dynamodb)
    part = Part(("s3:ObjectCreated:*",), "in/")
    switches.put("uploads", Cutover("sqs", 1_000.0, "attach", part=part))
    stack = {"StackStatus": "UPDATE_ROLLBACK_IN_PROGRESS"}
    told = SimpleNamespace(describe_stacks=lambda StackName: {"Stacks": [stack]})  # noqa: N803, ARG005 - boto3's
    clients = {"dynamodb": dynamodb, "cloudformation": told}
    ours = {**properties("sqs"), "RulesTable": rules_table, "Overlap": "0"}
    for request, wanted in (("Create", Part()), ("Delete", part)):
        event = {**asked(request, ours), "StackId": "stack"}
        apply(event, bucket, clients.__getitem__, no_sleep)
        (entry,) = bucket.document["QueueConfigurations"]
        assert set(part_of(entry).events) == set(wanted.events)
        assert part_of(entry).prefix == wanted.prefix
    known = switches.of("uploads")
    assert known is not None
    assert (known.by, known.part.prefix) == ("attach", "in/")


def test_a_bucket_that_was_taken_over_by_the_queue_is_by_its_rule_again_in_a_roll_back(
    dynamodb: Any, rules_table: str
) -> None:
    bucket, switch, pauses = taken_over(
        dynamodb, rules_table, ("eventbridge", "sqs"), "ROLLBACK_IN_PROGRESS"
    )
    assert bucket.document == {"EventBridgeConfiguration": {}}
    assert switch == Cutover("eventbridge", 5_000.0, "attach")
    assert pauses == []


def test_a_bucket_that_was_taken_over_goes_with_its_deploy(dynamodb: Any, rules_table: str) -> None:
    bucket, switch, _ = taken_over(dynamodb, rules_table, ("sqs", "eventbridge"), "UPDATE_COMPLETE")
    assert (bucket.document, switch) == ({"EventBridgeConfiguration": {}}, None)


def test_a_roll_back_does_not_fail_on_who_took_our_place(dynamodb: Any, rules_table: str) -> None:
    bucket, switches = Bucket(), Cutovers(rules_table, dynamodb)
    switches.put("uploads", Cutover("eventbridge", 1_000.0, "request", "sqs"))
    bucket.document = {
        "TopicConfigurations": [{"Id": "x", "TopicArn": "t", "Events": ["s3:ObjectCreated:*"]}]
    }
    before = copy.deepcopy(bucket.document)
    stack = {"StackStatus": "UPDATE_ROLLBACK_IN_PROGRESS"}
    told = SimpleNamespace(describe_stacks=lambda StackName: {"Stacks": [stack]})  # noqa: N803, ARG005 - boto3's
    ours = {**properties("eventbridge"), "RulesTable": rules_table, "Overlap": "600"}
    event = {**asked("Delete", ours), "StackId": "stack"}
    clients = {"dynamodb": dynamodb, "cloudformation": told}
    apply(event, bucket, clients.__getitem__, no_sleep)
    assert (bucket.document, switches.of("uploads")) == (before, None)


def test_a_deploy_that_is_rolled_back_takes_out_what_it_had_made(
    dynamodb: Any, rules_table: str
) -> None:
    bucket, ours = Bucket(), {**properties(), "RulesTable": rules_table}
    for request in ("Create", "Delete"):
        event = {**asked(request, ours), "StackId": "stack"}
        apply(event, bucket, {"dynamodb": dynamodb}.__getitem__, no_sleep)
    assert bucket.document == {}


def test_a_bucket_that_is_gone_needs_no_taking_out() -> None:
    attached = Bucket()
    apply(asked("Create", properties()), attached, sleep=no_sleep)
    gone = Bucket(attached.document, error("NoSuchBucket"))
    apply(asked("Delete", properties()), gone, sleep=no_sleep)


class Answers(HTTPServer):
    """Takes what CloudFormation would be told; refuses the first `refusals` times."""

    refusals = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.taken: list[dict[str, Any]] = []
        self.types: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/answer?signature=x"


class _Take(BaseHTTPRequestHandler):
    server: Answers

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.refusals -= 1
        if self.server.refusals >= 0:
            self.send_error(503)
            return
        self.server.taken.append(json.loads(body))
        self.server.types.append(self.headers["Content-Type"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answers() -> Iterator[Answers]:
    with Answers() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


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


def test_success_is_answered(
    function: Any, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "_s3", Bucket())
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
    # The address is signed for an empty type.
    assert answers.types == [""]


def test_failure_is_answered_with_its_reason(
    function: Any, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "_s3", Bucket(OTHERS))
    function.handler(event(answers, "Update", PhysicalResourceId="uploads/older"), CONTEXT)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "'theirs'" in answer["Reason"]
    assert answer["PhysicalResourceId"] == "uploads/older"


def test_even_a_malformed_request_is_answered(function: Any, answers: Answers) -> None:
    function.handler(event(answers, "Create", ResourceProperties={}), CONTEXT)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "Bucket" in answer["Reason"]


def test_what_does_not_come_is_answered_while_there_is_time(
    function: Any, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wait of a request has its own end, and their sum is longer than the function runs."""
    busy = [error("OperationAborted") for _ in range(100)]
    monkeypatch.setattr(function, "_s3", Bucket({}, *busy))
    nearly_over = lambda_context(get_remaining_time_in_millis=lambda: RESERVE * 1_000 + 1)
    function.handler(event(answers, "Create"), nearly_over)
    (answer,) = answers.taken
    assert answer["Status"] == "FAILED"
    assert "OutOfTimeError" in answer["Reason"]


def test_all_waits_of_a_request_share_its_time() -> None:
    slept: list[float] = []
    deadline = Deadline(RESERVE + 100, clock=lambda: sum(slept), sleep=slept.append)
    deadline.sleep(60)
    deadline.sleep(40)
    with pytest.raises(OutOfTimeError, match="deploy again"):
        deadline.sleep(1)
    assert slept == [60, 40]


def test_an_answer_that_is_not_taken_is_given_again(
    function: Any, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "_s3", Bucket())
    monkeypatch.setattr(response, "_PAUSE_SECONDS", 0)
    answers.refusals = 2
    function.handler(event(answers, "Create"), CONTEXT)
    assert len(answers.taken) == 1


def test_a_trail_logs_what_the_rules_of_the_bucket_ask_for(dynamodb: Any, rules_table: str) -> None:
    trail = "arn:aws:cloudtrail:eu-west-1:111122223333:trail/ours"
    trails = Trails(trail)
    clients = {"dynamodb": dynamodb, "cloudtrail": trails}
    own = {**properties(), "Trail": trail, "RulesTable": rules_table, "Stack": "Bucketcast"}
    rule = Rule(bucket="uploads", arn="arn:minio:sqs::a:webhook", events=("s3:ObjectAccessed:Get",))
    Rules(rules_table, dynamodb).add(rule)

    def follow(request: str, wanted: Any, before: Any = None) -> None:
        old = {"OldResourceProperties": before} if before else {}
        event = {"RequestType": request, "ResourceProperties": wanted, **old}
        follow_trail(event, clients.__getitem__, no_sleep)

    follow("Create", properties())
    assert trails.writes == 0
    trails.errors = [error("AccessDeniedException")]  # the right to it is not known everywhere yet
    follow("Create", own)
    assert trails.logged(trail) == ["GetObject"]
    trails.errors = [error("AccessDeniedException")]
    follow("Update", properties(), own)
    assert trails.logged(trail) == []
    follow("Update", own, properties())
    follow("Delete", own)
    assert trails.logged(trail) == []
    trails.selectors.clear()
    follow("Delete", own)  # with the trail all is gone


def test_the_trail_of_before_logs_nothing_more_where_another_is_named(
    dynamodb: Any, rules_table: str
) -> None:
    ours, theirs = (f"arn:aws:cloudtrail:eu-west-1:111122223333:trail/{x}" for x in ("a", "b"))
    trails = Trails(ours, theirs)
    clients = {"dynamodb": dynamodb, "cloudtrail": trails}
    rule = Rule(bucket="uploads", arn="arn:minio:sqs::a:webhook", events=("s3:ObjectAccessed:Get",))
    Rules(rules_table, dynamodb).add(rule)
    before, after = (
        {**properties(), "Trail": trail, "RulesTable": rules_table, "Stack": "Bucketcast"}
        for trail in (ours, theirs)
    )
    create = {"RequestType": "Create", "ResourceProperties": before}
    follow_trail(create, clients.__getitem__, no_sleep)
    update = {
        "RequestType": "Update",
        "ResourceProperties": after,
        "OldResourceProperties": before,
    }
    follow_trail(update, clients.__getitem__, no_sleep)
    assert (trails.logged(ours), trails.logged(theirs)) == ([], ["GetObject"])


def test_a_trail_that_was_refused_does_not_keep_the_deploy_from_being_rolled_back(
    dynamodb: Any, rules_table: str
) -> None:
    """CloudFormation then removes the entry, and could not if that were refused too."""
    trail = "arn:aws:cloudtrail:eu-west-1:111122223333:trail/theirs"
    trails = Trails(trail)
    data = [{"Type": "AWS::S3::Object", "Values": ["arn:aws:s3:::theirs/"]}]
    basic = {"EventSelectors": [{"ReadWriteType": "All", "DataResources": data}]}
    trails.selectors[trail] = basic
    clients = {"dynamodb": dynamodb, "cloudtrail": trails}
    rule = Rule(bucket="uploads", arn="arn:minio:sqs::a:webhook", events=("s3:ObjectAccessed:Get",))
    Rules(rules_table, dynamodb).add(rule)
    wanted = {**properties(), "Trail": trail, "Stack": "Bucketcast", "RulesTable": rules_table}
    create = {"RequestType": "Create", "ResourceProperties": wanted}
    with pytest.raises(NotSelectableError):
        follow_trail(create, clients.__getitem__, no_sleep)
    follow_trail({**create, "RequestType": "Delete"}, clients.__getitem__, no_sleep)
    assert trails.selectors[trail] == basic
