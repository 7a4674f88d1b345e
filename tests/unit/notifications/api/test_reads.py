"""A call about a bucket reads that bucket's things, however many others there are."""

from functools import partial
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bucketcast.deployment.outputs import MAX_AGE_SECONDS, outputs_reader
from bucketcast.destination import Destination, TopicArn
from bucketcast.notifications.api import Notifications
from bucketcast.state.items import DynamicTarget
from bucketcast.users import User
from tests.unit.conftest import Watch
from tests.unit.dynamic_targets.account import add_dynamic_targets
from tests.unit.moto_aws import TABLE, MotoAws
from tests.unit.notifications.api.test_document import config, queue

ANN = User("1", "ann", "", ("AK",))
OWN = DynamicTarget(
    arn="arn:minio:sqs::own:webhook", kind="webhook", id="own", queue="q", settings={}, number=1
)
DOCUMENT = config(queue(arn=OWN.arn)).encode()


@pytest.fixture
def aws(aws: MotoAws) -> MotoAws:
    """The stack with twenty topics of others, each with the longest OpaqueData that there is."""
    add_dynamic_targets(aws)
    store(aws, OWN)
    for number in range(20):
        settings = {"opaque_data": "x" * 190_000}
        store(aws, replace(OWN, arn=TopicArn("", "", f"photos-{number}").arn, settings=settings))
    return aws


def store(aws: MotoAws, target: DynamicTarget) -> None:
    text = msgspec.json.encode(target).decode()
    key = {"partition": {"S": "#targets"}, "key": {"S": f"target#{Destination.of(target.arn).key}"}}
    aws.dynamodb.put_item(TableName=TABLE, Item={**key, "text": {"S": text}})


@pytest.fixture
def notifications(aws: MotoAws) -> Notifications:
    return Notifications(outputs_reader("Bucketcast", aws), aws, "us-east-1")


def bytes_read(aws: MotoAws, call: Any) -> int:
    """Return the bytes of DynamoDB's answers during a call."""
    total = 0

    def count(http_response: Any, **_: Any) -> None:
        nonlocal total
        total += len(http_response.content)

    aws.dynamodb.meta.events.register("after-call.dynamodb", count)
    call()
    aws.dynamodb.meta.events.unregister("after-call.dynamodb", count)
    return total


def test_calls_about_a_bucket_read_a_few_kilobytes(
    notifications: Notifications, aws: MotoAws
) -> None:
    calls = {
        "get of an empty bucket": partial(notifications.get, "uploads"),
        "put": partial(notifications.put, "uploads", DOCUMENT, ANN),
        "get": partial(notifications.get, "uploads"),
        "attach": partial(notifications.attach, "uploads"),
        "delete": partial(notifications.delete, "uploads"),
    }
    read = {name: bytes_read(aws, call) for name, call in calls.items()}
    assert max(read.values()) < 8_192, read


def test_calls_within_seconds_share_a_reading_of_the_stack(aws: MotoAws, watch: Watch) -> None:
    now = 1_000.0
    notifications = Notifications(outputs_reader("Bucketcast", aws, lambda: now), aws, "us-east-1")
    watched = watch(aws.cloudformation, "describe_stacks")
    for _ in range(3):
        notifications.get("uploads")
        notifications.attach("uploads")
    assert watched.call_count == 1
    now += MAX_AGE_SECONDS
    notifications.get("uploads")
    assert watched.call_count == 2


@pytest.mark.parametrize(
    ("changed", "shown"), [({}, True), ({"state": "off"}, True), ({"state": "kept"}, False)]
)
def test_rules_of_dynamic_targets_are_shown_while_there_are_such(
    notifications: Notifications, aws: MotoAws, changed: dict[str, Any], *, shown: bool
) -> None:
    notifications.put("uploads", DOCUMENT, ANN)
    store(aws, replace(OWN, **changed))
    assert (OWN.arn in notifications.get("uploads").decode()) == shown
