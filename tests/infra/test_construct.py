"""`Bucketcast` in a user's own app: beside other resources, without context, or refused."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import App, NestedStack, Stack, Tags
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_notifications as s3_notifications
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template

from bucketcast.errors import ConfigErrors
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import UNBUNDLED

CONFIG: dict[str, Any] = {
    "dynamic_targets": {"kinds": "off"},
    "bucket": {"photos": {}, "named": {"create": False}},
    "notify_webhook": {"primary": {"endpoint": "https://example.org/hook"}},
}


@pytest.fixture
def stack() -> Stack:
    """A stack of an app that sets nothing but that nothing is bundled, or checked by the CDK."""
    context = {**UNBUNDLED, "@aws-cdk/core:validateAgainstDefaultRules": False}
    return Stack(App(context=context), "Photos")


def test_bucket_construct_is_attached_by_its_deploy_time_name(stack: Stack) -> None:
    photos = s3.Bucket(stack, "Photos")
    Bucketcast(stack, "Events", config=CONFIG, buckets={"photos": photos})
    template = Template.from_stack(stack).to_json()
    (name, bucket), *others = _of_type(template, "AWS::S3::Bucket")
    assert not others
    assert "BucketName" not in bucket.get("Properties", {})
    entries = [each["Properties"] for _, each in _of_type(template, "Custom::BucketNotification")]
    found = [entry["Bucket"] for entry in entries]
    assert {"Ref": name} in found
    assert "named" in found
    (policy,) = [each["Properties"] for _, each in _of_type(template, "AWS::IAM::ManagedPolicy")]
    rights = str(policy["PolicyDocument"])
    assert f"'Ref': '{name}'" in rights
    assert ":s3:::named" in rights


def test_outputs_have_the_same_names_in_every_app(stack: Stack) -> None:
    alone = Stack(stack.node.root, "Alone")  # type: ignore[arg-type]
    Bucketcast(alone, "Default", config=CONFIG)
    Bucketcast(stack, "Events", config=CONFIG)
    names = [Template.from_stack(each).to_json()["Outputs"].keys() for each in (alone, stack)]
    assert names[0] == names[1]
    assert {"IngressQueueUrl", "TakesEffect"} < set(names[0])


def test_tags_and_boundaries_reach_all_resources_but_no_other_alarms(stack: Stack) -> None:
    metric = cloudwatch.Metric(namespace="Theirs", metric_name="Errors")
    cloudwatch.Alarm(stack, "Theirs", metric=metric, threshold=1, evaluation_periods=1)
    config = {**CONFIG, "alarms": {"email": "events@example.org"}}
    made = Bucketcast(stack, "Events", config=config)
    Tags.of(made).add("team", "photos")
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    policy = iam.ManagedPolicy.from_managed_policy_arn(stack, "Boundary", boundary)
    iam.PermissionsBoundary.of(made).apply(policy)
    template = Template.from_stack(stack).to_json()
    roles = [each["Properties"] for _, each in _of_type(template, "AWS::IAM::Role")]
    assert roles
    assert {each["PermissionsBoundary"] for each in roles} == {boundary}
    for _, queue in _of_type(template, "AWS::SQS::Queue"):
        assert {"Key": "team", "Value": "photos"} in queue["Properties"]["Tags"]
    alarms = dict(_of_type(template, "AWS::CloudWatch::Alarm"))
    paging = {name for name, each in alarms.items() if each["Properties"].get("AlarmActions")}
    assert {name for name in alarms if name not in paging} == {
        name for name in alarms if name.startswith("Theirs")
    }


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        (
            {"bucket": {"photos": {}}, "notify_webhook": {"a": {"endpoint": "http://127.0.0.1/"}}},
            "notify_webhook.a.endpoint",
        ),
        ({"bucket": {"others": {}}}, "bucket.photos: is given as a construct"),
        (
            {"bucket": {"photos": {}}, "pipeline": {"buckets": ["photos"]}},
            "pipeline.buckets: names the bucket 'photos'",
        ),
    ],
)
def test_impossible_arguments_are_refused_by_field(
    stack: Stack, config: dict[str, Any], wrong: str
) -> None:
    photos = s3.Bucket(stack, "Photos")
    with pytest.raises(ConfigErrors, match=re.escape(wrong)):
        Bucketcast(stack, "Events", config=config, buckets={"photos": photos})


def test_stack_holds_one_construct_and_a_nested_stack_none(stack: Stack) -> None:
    Bucketcast(stack, "Events", config=CONFIG)
    with pytest.raises(ConfigErrors, match="Photos/More: is the second in stack Photos"):
        Bucketcast(stack, "More", config=CONFIG)
    nested = NestedStack(stack, "Nested")
    with pytest.raises(ConfigErrors, match="is in a nested stack"):
        Bucketcast(nested, "Events", config=CONFIG)


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_bucket_with_notifications_of_cdk_needs_eventbridge(stack: Stack, via: str) -> None:
    photos = s3.Bucket(stack, "Photos", event_bridge_enabled=True)
    config = CONFIG | {"bucket": {"photos": {"via": via}}}
    Bucketcast(stack, "Events", config=config, buckets={"photos": photos})
    topic = s3_notifications.SnsDestination(sns.Topic(stack, "Topic"))
    photos.add_event_notification(s3.EventType.OBJECT_CREATED, topic)
    if via == "eventbridge":
        assert Template.from_stack(stack).to_json()
    else:
        with pytest.raises(
            RuntimeError, match=r'bucket\.photos: CDK writes .* via = "eventbridge"'
        ):
            Template.from_stack(stack)


def _of_type(template: Mapping[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    found = template["Resources"].items()
    return [(name, each) for name, each in found if each["Type"] == kind]
