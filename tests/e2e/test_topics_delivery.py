"""Notifications of topics: from boto3 with Ceph's model to the endpoint."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.e2e.system import System
from tests.servers.receiver import Request

BUCKET = "uploads"
PUT = "s3:ObjectCreated:*"
_FILTER = {
    "type": "structure",
    "members": {"FilterRules": {"shape": "FilterRuleList", "locationName": "FilterRule"}},
}
_ONE = {"shape": "NotificationId", "location": "querystring", "locationName": "notification-id"}
_BUCKET = {"shape": "BucketName", "location": "uri", "locationName": "Bucket"}
# What Ceph's extension of boto3's model adds for notifications.
EXTRAS = {
    "version": 1.0,
    "merge": {
        "operations": {
            "DeleteBucketNotificationConfiguration": {
                "name": "DeleteBucketNotificationConfiguration",
                "http": {
                    "method": "DELETE",
                    "requestUri": "/{Bucket}?notification",
                    "responseCode": 204,
                },
                "input": {"shape": "DeleteBucketNotificationConfigurationRequest"},
            }
        },
        "shapes": {
            "DeleteBucketNotificationConfigurationRequest": {
                "type": "structure",
                "required": ["Bucket"],
                "members": {
                    # Ceph's has no contextParam, and boto3 then leaves the bucket out of the call.
                    "Bucket": {**_BUCKET, "contextParam": {"name": "Bucket"}},
                    "Notification": _ONE,
                },
            },
            "GetBucketNotificationConfigurationRequest": {"members": {"Notification": _ONE}},
            "NotificationConfigurationFilter": {
                "members": {
                    "Metadata": {"shape": "S3MetadataFilter", "locationName": "S3Metadata"},
                    "Tags": {"shape": "S3TagsFilter", "locationName": "S3Tags"},
                }
            },
            "S3MetadataFilter": _FILTER,
            "S3TagsFilter": _FILTER,
        },
    },
}


@pytest.fixture(scope="module")
def s3(system: System, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """boto3 with Ceph's model, before the gateway."""
    models: Path = tmp_path_factory.mktemp("models")
    folder = models / "s3" / "2006-03-01"
    folder.mkdir(parents=True)
    (folder / "service-2.sdk-extras.json").write_text(json.dumps(EXTRAS))
    session = botocore.session.Session()
    # As AWS_DATA_PATH would; what lies there goes before botocore's own.
    session.set_config_variable("data_path", str(models))
    where = system.environment
    client = session.create_client(
        "s3",
        region_name=where["AWS_REGION"],
        endpoint_url=where["BUCKETCAST_URL"],
        aws_access_key_id=where["BUCKETCAST_ACCESS_KEY"],
        aws_secret_access_key=where["BUCKETCAST_SECRET_KEY"],
        config=Config(signature_version="s3v4", retries={"total_max_attempts": 1}),
    )
    yield client
    client.close()


@pytest.fixture
def topic(system: System, prefix: str) -> Iterator[Callable[..., str]]:
    """Make topics that post to a path of the flaky webhook; they are deleted in the end."""
    sns = system.through("sns")
    made: list[str] = []

    def make(name: str, **attributes: str) -> str:
        endpoint = f"http://{system.consumers.flaky.address}/open/{prefix}{name}"
        given = {key.replace("__", "-"): text for key, text in attributes.items()}
        name = f"{prefix.strip('/')}-{name}"
        answer = sns.create_topic(Name=name, Attributes={"push-endpoint": endpoint, **given})
        made.append(str(answer["TopicArn"]))
        return made[-1]

    yield make
    for arn in made:
        sns.delete_topic(TopicArn=arn)
    sns.close()


def notify(s3: Any, id_: str, arn: str, **filters: list[tuple[str, str]]) -> None:
    rules = {
        kind: {"FilterRules": [{"Name": name, "Value": value} for name, value in pairs]}
        for kind, pairs in filters.items()
    }
    wanted = {"Id": id_, "TopicArn": arn, "Events": [PUT], "Filter": rules}
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"TopicConfigurations": [wanted]}
    )


def seen(system: System, prefix: str, name: str) -> list[Request]:
    path = f"/open/{prefix}{name}"
    return [each for each in system.consumers.flaky.requests() if each.path == path]


def test_boto3_with_cephs_model_and_every_filter(
    system: System, s3: Any, topic: Callable[..., str], prefix: str
) -> None:
    arn = topic("t", OpaqueData="me@example.com", cloudevents="true")
    below = ("prefix", prefix)
    ids = {name: f"{prefix}{name}" for name in ("regex", "metadata", "tags", "all")}
    notify(s3, ids["regex"], arn, Key=[below, ("regex", f"{prefix}([a-z]+)")])
    notify(s3, ids["metadata"], arn, Key=[below], Metadata=[("x-amz-meta-foo", "bar")])
    notify(s3, ids["tags"], arn, Key=[below], Tags=[("foo", "bar")])
    notify(
        s3,
        ids["all"],
        arn,
        Key=[below, ("regex", ".*/([a-z]+)")],
        Metadata=[("x-amz-meta-foo", "bar")],
        Tags=[("foo", "bar")],
    )
    found = s3.get_bucket_notification_configuration(Bucket=BUCKET, Notification=ids["all"])
    (one,) = found["TopicConfigurations"]
    assert (one["Id"], one["TopicArn"]) == (ids["all"], arn)
    assert one["Filter"]["Tags"]["FilterRules"] == [{"Name": "foo", "Value": "bar"}]
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_bucket_notification_configuration(Bucket=BUCKET, Notification="never")

    def put(key: str, **more: Any) -> None:
        system.s3.put_object(Bucket=BUCKET, Key=prefix + key, Body=b"x", **more)

    put("1")
    put("abc")
    put("2", Metadata={"foo": "bar"})
    put("3", Tagging="foo=bar")
    put("abcd", Metadata={"foo": "bar", "more": "x"}, Tagging="foo=bar&more=x")

    def by_id() -> dict[str, list[str]]:
        received: dict[str, list[str]] = {name: [] for name in ids}
        for each in seen(system, prefix, "t"):
            record = json.loads(each.body)["Records"][0]
            name = record["s3"]["configurationId"].removeprefix(prefix)
            received[name].append(record["s3"]["object"]["key"].removeprefix(prefix))
        return {name: sorted(values) for name, values in received.items()}

    wanted = {"regex": ["abc", "abcd"], "metadata": ["2", "abcd"], "tags": ["3", "abcd"]}
    system.until_equal("what each asks for", by_id, {**wanted, "all": ["abcd"]})
    requests = seen(system, prefix, "t")
    records = [json.loads(each.body)["Records"][0] for each in requests]
    assert {each["opaqueData"] for each in records} == {"me@example.com"}
    assert len({each["eventId"] for each in records}) == len(records)
    (whole,) = [each for each in records if each["s3"]["configurationId"] == ids["all"]]
    assert (whole["eventSource"], whole["eventVersion"]) == ("ceph:s3", "2.2")
    assert {"key": "x-amz-meta-foo", "val": "bar"} in whole["s3"]["object"]["metadata"]
    assert {"key": "foo", "val": "bar"} in whole["s3"]["object"]["tags"]
    assert {each.headers["ce-specversion"] for each in requests} == {"1.0"}
    for id_ in ids.values():
        s3.delete_bucket_notification_configuration(Bucket=BUCKET, Notification=id_)
        s3.delete_bucket_notification_configuration(Bucket=BUCKET, Notification=id_)
    left = s3.get_bucket_notification_configuration(Bucket=BUCKET).get("TopicConfigurations", [])
    assert not [each for each in left if each["Id"] in ids.values()]
