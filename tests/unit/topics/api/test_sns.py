"""The SNS API of topics: what every action answers to boto3's own client."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.dynamic_targets.made import Account
from tests.unit.topics.api.sns_calls import Server

T1 = "arn:aws:sns:us-east-1:acme:t1"
FULL = {
    "push-endpoint": "amqp://rabbit:5672/v",
    "OpaqueData": "me@example.com & <you>",
    "persistent": "true",
    "time_to_live": "60",
    "max_retries": "0",
    "retry_sleep_duration": "None",
    "verify-ssl": "false",
    "amqp-exchange": "ex",
    "amqp-ack-level": "routable",
}


@pytest.fixture
def server(state_table: str) -> Server:
    return Server(Account(state_table))


@pytest.fixture
def ann(server: Server) -> Any:
    return server.client("ANN")


def code(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    answer: Any = error.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def read(client: Any, arn: str = T1) -> dict[str, Any]:
    found: dict[str, Any] = dict(client.get_topic_attributes(TopicArn=arn)["Attributes"])
    return {**found, "EndPoint": json.loads(found["EndPoint"])}


def test_what_is_created_is_given_back_field_by_field(ann: Any) -> None:
    answer = ann.create_topic(Name="t1", Attributes=FULL)
    assert answer["TopicArn"] == T1
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36
    assert read(ann) == {
        "User": "acme$ann",
        "Name": "t1",
        "EndPoint": {
            "EndpointAddress": "amqp://rabbit:5672/v",
            "EndpointArgs": "amqp-ack-level=routable&amqp-exchange=ex&verify-ssl=false",
            "EndpointTopic": "t1",
            "HasStoredSecret": False,
            "Persistent": True,
            "TimeToLive": "60",
            "MaxRetries": "0",
            "RetrySleepDuration": "None",
        },
        "TopicArn": T1,
        "OpaqueData": "me@example.com & <you>",
        "Policy": "",
    }


def test_a_topic_of_nothing_but_its_name(server: Server) -> None:
    noone = server.client("NOONE")
    arn = noone.create_topic(Name="t1")["TopicArn"]
    assert arn == "arn:aws:sns:us-east-1::t1"
    found = read(noone, arn)
    assert found["User"] == "noone"
    assert found["EndPoint"]["EndpointAddress"] == ""
    assert found["EndPoint"]["Persistent"] is False


def test_creating_again_is_an_update_of_everything(ann: Any) -> None:
    ann.create_topic(Name="t1", Attributes=FULL)
    assert ann.create_topic(Name="t1", Attributes={"push-endpoint": "http://h/"})["TopicArn"] == T1
    found = read(ann)
    assert found["OpaqueData"] == ""
    assert (
        found["EndPoint"] | {"EndpointArgs": "", "EndpointAddress": "http://h/"}
        == (found["EndPoint"])
    )
    assert found["EndPoint"]["TimeToLive"] == "None"
    assert found["EndPoint"]["Persistent"] is False


@pytest.mark.parametrize(
    ("key", "text", "where", "expected"),
    [
        ("OpaqueData", "new", None, "new"),
        ("push-endpoint", "amqp://other", "EndpointAddress", "amqp://other"),
        ("persistent", "false", "Persistent", False),
        ("time_to_live", "5", "TimeToLive", "5"),
        ("time_to_live", "", "TimeToLive", "None"),
        ("max_retries", "3", "MaxRetries", "3"),
        ("retry_sleep_duration", "2", "RetrySleepDuration", "2"),
        ("amqp-ack-level", "none", "EndpointArgs", "amqp-ack-level=none&amqp-exchange=ex"),
        ("amqp-exchange", "ex2", "EndpointArgs", "amqp-ack-level=routable&amqp-exchange=ex2"),
    ],
)
def test_one_attribute_is_changed_and_the_others_stay(
    ann: Any, key: str, text: str, where: str | None, expected: object
) -> None:
    given = {name: value for name, value in FULL.items() if name != "verify-ssl"}
    ann.create_topic(Name="t1", Attributes=given)
    before = read(ann)
    ann.set_topic_attributes(TopicArn=T1, AttributeName=key, AttributeValue=text)
    after = read(ann)
    found, part = (after, key) if where is None else (after["EndPoint"], where)
    assert found.pop(part) == expected
    (before if where is None else before["EndPoint"]).pop(part)
    assert after == before


def test_deleting_twice_is_no_error_and_reading_then_is(ann: Any) -> None:
    ann.create_topic(Name="t1")
    ann.delete_topic(TopicArn=T1)
    ann.delete_topic(TopicArn=T1)
    with pytest.raises(ann.exceptions.NotFoundException) as caught:
        ann.get_topic_attributes(TopicArn=T1)
    assert code(caught) == ("NotFound", 404)
    with pytest.raises(ann.exceptions.NotFoundException):
        ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqueData", AttributeValue="x")


def test_topics_are_listed_in_pages_by_the_sdk_s_own_paginator(server: Server, ann: Any) -> None:
    put = server.account.dynamodb.put_item
    names = [f"t{number:04}" for number in range(1_000)]
    ann.create_topic(Name="t0")
    (item,) = server.account.dynamodb.query(
        TableName=server.account.table._name,
        KeyConditionExpression="#b = :b AND begins_with(#r, :r)",
        ExpressionAttributeNames={"#b": "partition", "#r": "key"},
        ExpressionAttributeValues={":b": {"S": "#targets"}, ":r": {"S": "topic#"}},
    )["Items"]
    for name in names:
        text = item["text"]["S"].replace('"t0"', f'"{name}"')
        row = {**item, "key": {"S": f"topic#acme:{name}"}, "text": {"S": text}}
        put(TableName=server.account.table._name, Item=row)
    pages = list(ann.get_paginator("list_topics").paginate())
    assert [len(page["Topics"]) for page in pages] == [100] * 10 + [1]
    listed = [each["TopicArn"] for page in pages for each in page["Topics"]]
    assert listed == [f"arn:aws:sns:us-east-1:acme:{name}" for name in ["t0", *names]]
    with pytest.raises(ClientError) as caught:
        ann.list_topics(NextToken="what?")
    assert code(caught) == ("InvalidArgument", 400)


def test_no_topics_are_an_empty_list(ann: Any) -> None:
    answer = ann.list_topics()
    assert answer["Topics"] == []
    assert "NextToken" not in answer


@pytest.mark.parametrize("name", ["", "a b", "a+b", "ä", "a:b", "a/b", "x" * 257])
def test_names_that_cannot_be_are_refused(ann: Any, name: str) -> None:
    with pytest.raises(ClientError) as caught:
        ann.create_topic(Name=name)
    assert code(caught) == ("InvalidArgument", 400)


def test_a_plus_is_a_plus_and_a_blank_a_blank(ann: Any) -> None:
    ann.create_topic(Name="t1", Attributes={"OpaqueData": "a b+c %2B"})
    assert read(ann)["OpaqueData"] == "a b+c %2B"


@pytest.mark.parametrize(
    ("attributes", "wrong"),
    [
        ({"push-endpoint": "not a url"}, "push-endpoint"),
        ({"push-endpoint": "amqp://h"}, "amqp-exchange"),
        ({"push-endpoint": "mqtt://h"}, "push-endpoint"),
        ({"persistent": "maybe"}, "persistent"),
        ({"Policy": "{"}, "Policy"),
    ],
)
def test_attributes_that_cannot_be_are_refused_and_nothing_is_made(
    ann: Any, attributes: dict[str, str], wrong: str
) -> None:
    with pytest.raises(ClientError, match=wrong) as caught:
        ann.create_topic(Name="t1", Attributes=attributes)
    assert code(caught)[1] == 400
    assert ann.list_topics()["Topics"] == []


@pytest.mark.parametrize("arn", ["t1", "arn:aws:sns:us-east-1:acme:", "arn:aws:s3:::b", T1 + ":x"])
def test_an_arn_that_is_none_is_refused(ann: Any, arn: str) -> None:
    for ask in (ann.get_topic_attributes, ann.delete_topic):
        with pytest.raises(ClientError) as caught:
            ask(TopicArn=arn)
        assert code(caught) == ("InvalidArgument", 400)


def test_an_attribute_that_there_is_not_cannot_be_set(ann: Any) -> None:
    ann.create_topic(Name="t1")
    with pytest.raises(ClientError, match=r"did you mean.* OpaqueData") as caught:
        ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqeData", AttributeValue="x")
    assert code(caught) == ("InvalidArgument", 400)


def test_a_certificate_by_its_path_is_read_once_and_its_key_is_not(
    server: Server, ann: Any, tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    file.write_text(f"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n{pem}")
    given = {"push-endpoint": "https://h", "persistent": "true", "ca-location": str(file)}
    ann.create_topic(Name="t1", Attributes=given)
    file.unlink()
    ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqueData", AttributeValue="x")
    assert read(ann)["EndPoint"]["EndpointArgs"] == f"ca-location={file}"
    (target,) = server.account.table.targets()
    assert target.settings["cert_authority"] == pem.strip()


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/zero", "/proc/self/environ", "/n", "x", "."])
def test_other_files_are_answered_as_if_they_were_not_there(ann: Any, path: str) -> None:
    given = {"push-endpoint": "https://h", "ca-location": path}
    with pytest.raises(ClientError, match="allowed is a certificate as PEM text, or its path"):
        ann.create_topic(Name="t1", Attributes=given)


def test_an_action_that_ceph_does_not_have_is_refused(ann: Any) -> None:
    with pytest.raises(ClientError) as caught:
        ann.publish(TopicArn=T1, Message="x")
    assert code(caught) == ("MethodNotAllowed", 405)


def test_user_has_no_more_topics_than_allowed(state_table: str) -> None:
    server = Server(Account(state_table), topics_per_user=2)
    ann = server.client("ANN")
    for name in ("t1", "t2", "t2"):
        ann.create_topic(Name=name)
    with pytest.raises(ClientError) as refused:
        ann.create_topic(Name="t3")
    assert code(refused) == ("TopicLimitExceeded", 403)
    server.client("ALF").create_topic(Name="t3")
    ann.delete_topic(TopicArn=T1)
    ann.create_topic(Name="t4")
