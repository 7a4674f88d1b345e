"""Notifications of topics: from boto3 with Ceph's model to the endpoint."""

import json
from collections.abc import Iterator
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
def topic(system: System, prefix: str) -> Iterator[str]:
    """The ARN of a topic that posts to a path of the flaky webhook."""
    sns = system.through("sns")
    endpoint = f"http://{system.consumers.flaky.address}/open/{prefix}"
    given = {"push-endpoint": endpoint, "OpaqueData": "me@example.com", "cloudevents": "true"}
    arn = str(sns.create_topic(Name=prefix.strip("/"), Attributes=given)["TopicArn"])
    yield arn
    sns.delete_topic(TopicArn=arn)
    sns.close()


def test_boto3_with_cephs_model_and_every_filter(
    system: System, s3: Any, topic: str, prefix: str
) -> None:
    filters = {
        "Key": [("prefix", prefix), ("regex", ".*/([a-z]+)")],
        "Metadata": [("x-amz-meta-foo", "bar")],
        "Tags": [("foo", "bar")],
    }
    rules = {
        kind: {"FilterRules": [{"Name": name, "Value": value} for name, value in pairs]}
        for kind, pairs in filters.items()
    }
    wanted = {"Id": prefix, "TopicArn": topic, "Events": [PUT], "Filter": rules}
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"TopicConfigurations": [wanted]}
    )
    found = s3.get_bucket_notification_configuration(Bucket=BUCKET, Notification=prefix)
    (one,) = found["TopicConfigurations"]
    assert (one["Id"], one["TopicArn"]) == (prefix, topic)
    assert one["Filter"]["Tags"]["FilterRules"] == [{"Name": "foo", "Value": "bar"}]
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_bucket_notification_configuration(Bucket=BUCKET, Notification="never")
    facts: dict[str, Any] = {"Metadata": {"foo": "bar", "more": "x"}, "Tagging": "foo=bar&more=x"}
    for key, more in (("abc", {}), ("2", facts), ("abcd", facts)):
        system.s3.put_object(Bucket=BUCKET, Key=prefix + key, Body=b"x", **more)

    def seen() -> list[Request]:
        requests = system.consumers.flaky.requests()
        return [each for each in requests if each.path == f"/open/{prefix}"]

    (request,) = system.until("an event", seen, bool)
    assert request.headers["ce-specversion"] == "1.0"
    (record,) = json.loads(request.body)["Records"]
    assert (record["eventSource"], record["eventVersion"]) == ("ceph:s3", "2.2")
    assert record["opaqueData"] == "me@example.com"
    assert record["s3"]["configurationId"] == prefix
    assert record["s3"]["object"]["key"] == f"{prefix}abcd"
    assert {"key": "x-amz-meta-foo", "val": "bar"} in record["s3"]["object"]["metadata"]
    assert {"key": "foo", "val": "bar"} in record["s3"]["object"]["tags"]
    for _ in range(2):
        s3.delete_bucket_notification_configuration(Bucket=BUCKET, Notification=prefix)
    left = s3.get_bucket_notification_configuration(Bucket=BUCKET).get("TopicConfigurations", [])
    assert prefix not in [each["Id"] for each in left]
