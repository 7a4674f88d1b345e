"""Who owns a topic, what a policy lets others do, and what is returned over HTTPS only."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.destination import TopicArn
from bucketcast.state.items import Topic
from bucketcast.topics.policy import PUBLISH
from bucketcast.web.secure import secure
from tests.unit.dynamic_targets.account import Account
from tests.unit.moto_aws import DYNAMIC
from tests.unit.topics.api.sns_calls import Server, refused

T1 = "arn:aws:sns:us-east-1:acme:t1"
DENIED = ("AuthorizationError", 403)
LOGIN = {"push-endpoint": "https://u:hunter2@h/x"}
Call = Callable[[Any], Any]
CALLS: dict[str, Call] = {
    "sns:GetTopicAttributes": lambda who: who.get_topic_attributes(TopicArn=T1),
    "sns:SetTopicAttributes": lambda who: who.set_topic_attributes(
        TopicArn=T1, AttributeName="OpaqueData", AttributeValue="theirs"
    ),
    "sns:DeleteTopic": lambda who: who.delete_topic(TopicArn=T1),
}


def policy(*actions: str, effect: str = "Allow", user: str = "other:user/bob") -> dict[str, str]:
    statement = {
        "Effect": effect,
        "Principal": {"AWS": [f"arn:aws:iam::{user}"]},
        "Action": actions,
        "Resource": T1,
    }
    return {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}


def topic(server: Server) -> Topic:
    stored = server.table.topic(TopicArn.parse(T1))
    assert stored is not None
    return stored


def test_creating_another_users_topic_in_the_tenant_is_refused(server: Server) -> None:
    server.client("ANN").create_topic(Name="t1", Attributes={"OpaqueData": "mine"})
    assert refused(lambda: server.client("ALF").create_topic(Name="t1")) == DENIED
    other = server.client("BOB").create_topic(Name="t1")["TopicArn"]
    assert other == "arn:aws:sns:us-east-1:other:t1"
    assert topic(server).opaque_data == "mine"


@pytest.mark.parametrize("allowed", CALLS)
def test_policy_grants_another_tenant_exactly_its_actions(server: Server, allowed: str) -> None:
    server.client("ANN").create_topic(Name="t1", Attributes=policy(allowed))
    bob = server.client("BOB")
    for action, call in CALLS.items():
        if action != allowed:
            assert refused(partial(call, bob)) == DENIED
    CALLS[allowed](bob)


@pytest.mark.parametrize("name", ["t1", "other"])
def test_who_may_not_change_a_topic_holds_up_nobody(server: Server, name: str) -> None:
    """A refused call wrote the task that the owner's calls wait for, and read all targets."""
    server.client("ANN").create_topic(Name=name)
    with server.account.killed(-1):
        for call in CALLS.values():
            with suppress(ClientError):
                call(server.client("BOB"))
        with suppress(ClientError):
            server.client("ALF").create_topic(Name=name)
    assert server.account.calls == ["GetItem"] * 4


def test_owner_stays_when_a_policy_lets_others_overwrite(server: Server) -> None:
    given = policy(PUBLISH, "sns:CreateTopic", user="acme:user/alf")
    server.client("ANN").create_topic(Name="t1", Attributes=given)
    server.client("ALF").create_topic(Name="t1", Attributes={"OpaqueData": "alf's"})
    stored = topic(server)
    assert (stored.owner, stored.opaque_data, stored.policy) == ("ann", "alf's", "")


def test_list_shows_the_tenants_topics_that_the_user_may_read(server: Server) -> None:
    given = policy("sns:GetTopicAttributes", user="acme:user/alf")
    server.client("ANN").create_topic(Name="t1", Attributes=given)
    server.client("ANN").create_topic(Name="t2")
    listed = server.client("ALF").list_topics()["Topics"]
    assert [entry["TopicArn"] for entry in listed] == [T1]
    for stranger in ("BOB", "NOONE"):
        assert server.client(stranger).list_topics()["Topics"] == []


def test_an_administrator_lists_and_changes_the_topics_of_all(server: Server) -> None:
    server.client("ANN").create_topic(Name="t1")
    server.client("BOB").create_topic(Name="t2")
    root = server.client("ROOT")
    assert len(root.list_topics()["Topics"]) == 2
    for call in CALLS.values():
        call(root)
    assert len(root.list_topics()["Topics"]) == 1


def test_a_login_is_refused_over_http(server: Server) -> None:
    ann = server.client("ANN")
    for given in (LOGIN, {"user-name": "a", "password": "hunter2"}):
        create = partial(ann.create_topic, Name="t1", Attributes=given)
        assert refused(create) == ("InvalidArgument", 400)
    ann.create_topic(Name="t1")
    assert refused(
        lambda: ann.set_topic_attributes(
            TopicArn=T1, AttributeName="push-endpoint", AttributeValue=LOGIN["push-endpoint"]
        )
    ) == ("InvalidArgument", 400)


def test_a_login_is_accepted_over_https_and_never_returned(account: Account) -> None:
    ann = Server(account, "always").client("ANN")
    ann.create_topic(Name="t1", Attributes={**LOGIN, "persistent": "true"})
    answer = ann.get_topic_attributes(TopicArn=T1)["Attributes"]
    endpoint = json.loads(answer["EndPoint"])
    assert endpoint["HasStoredSecret"] is True
    assert endpoint["EndpointAddress"] == "https://h/x"
    assert "hunter2" not in str(answer) + str(ann.list_topics())
    ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqueData", AttributeValue="x")
    ((name, secret),) = account.secret_texts().items()
    assert name.startswith(f"{DYNAMIC.secrets}webhook-"), "what its function may read"
    assert secret["push-endpoint"] == LOGIN["push-endpoint"]
    assert "hunter2" not in str(account.dynamodb.scan(TableName=account.table_name)["Items"])


@pytest.mark.parametrize(
    ("login", "key", "value"),
    [
        ({"user-name": "u", "password": "hunter2"}, "push-endpoint", "kafka://eve"),
        ({"user-name": "u", "password": "hunter2"}, "kafka-brokers", "eve:9092"),
        ({"push-endpoint": "kafka://u:hunter2@h"}, "kafka-brokers", "eve:9092"),
        ({"push-endpoint": "kafka://u:hunter2@h"}, "use-ssl", "false"),
    ],
)
def test_right_to_change_a_topic_cannot_redirect_its_password(
    account: Account, login: dict[str, str], key: str, value: str
) -> None:
    server = Server(account, "always", topics_in_cleartext=True)
    given = {"push-endpoint": "kafka://h", "use-ssl": "true", **login}
    given |= policy("sns:SetTopicAttributes")
    server.client("ANN").create_topic(Name="t1", Attributes=given)
    before = topic(server)
    wanted = {"TopicArn": T1, "AttributeName": key, "AttributeValue": value}
    bob = server.client("BOB")
    assert refused(lambda: bob.set_topic_attributes(**wanted)) == DENIED
    assert topic(server) == before
    bob.set_topic_attributes(TopicArn=T1, AttributeName="OpaqueData", AttributeValue="mine")
    server.client("ANN").set_topic_attributes(**wanted)
    assert topic(server).attributes[key] == value


@pytest.mark.parametrize(
    "login", [{"push-endpoint": "kafka://u:hunter2@h"}, {"user-name": "u", "password": "hunter2"}]
)
def test_login_for_kafka_without_tls_needs_the_operators_consent(
    account: Account, login: dict[str, str]
) -> None:
    given = {"push-endpoint": "kafka://h", "mechanism": "SCRAM-SHA-512", **login}
    ann = Server(account, "always").client("ANN")
    with pytest.raises(ClientError, match=r'allow_secrets_in_cleartext = "on" in \[topics\]') as no:
        ann.create_topic(Name="t1", Attributes=given)
    assert "hunter2" not in str(no.value)
    assert ann.list_topics()["Topics"] == []
    ann.create_topic(Name="t1", Attributes={**given, "use-ssl": "true"})
    with pytest.raises(ClientError, match="use-ssl: found false beside a login"):
        ann.set_topic_attributes(TopicArn=T1, AttributeName="use-ssl", AttributeValue="false")
    server = Server(account, "always", topics_in_cleartext=True)
    server.client("ANN").create_topic(Name="t1", Attributes={**given, "persistent": "true"})
    found = topic(server)
    assert (found.settings["tls"], found.settings["sasl"]) == ("off", "on")
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "given",
    [
        {"push-endpoint": "amqp://u:hunter2@h:5672/v?x=y"},
        {"push-endpoint": "amqp://u:hunter2[@h/"},
        {"push-endpoint": "amqp://u:hunter2@h/", "amqp-exchange": "secret:x"},
        {"push-endpoint": "http://u:hunter2@h:0/"},
        {"push-endpoint": "http://u:hunter2@[::1]:99999/"},
        {"push-endpoint": "http://u:hunter2@169.254.169.254/"},
        {"push-endpoint": "https://u:hunter2@h/x y"},
        {"push-endpoint": "http://u:hunter2@h/", "max_retries": "x"},
        {"push-endpoint": "http://u:hunter2@h/", "OpaqueData": "secret:x"},
        {"push-endpoint": "kafka://u:hunter2@h:9092/x", "use-ssl": "true"},
        {"push-endpoint": "kafka://u:hunter2@h", "kafka-brokers": "bad host", "use-ssl": "true"},
        {"push-endpoint": "kafka://h", "user-name": "u", "password": "hunter2", "use-ssl": "yes"},
        {"push-endpoint": "kafka://h", "user-name": "u", "password": "hunter2" * 2_000},
        {"push-endpoint": "ftp://u:hunter2@h/"},
        {"push-endpoint": "u:hunter2@h"},
    ],
)
def test_a_login_is_in_no_error_and_in_no_item(account: Account, given: dict[str, str]) -> None:
    ann = Server(account, "always").client("ANN")
    exchange = {"amqp-exchange": "e"} if given["push-endpoint"].startswith("amqp") else {}
    with pytest.raises(ClientError) as error:
        ann.create_topic(Name="t1", Attributes={**exchange, **given})
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "hunter2" not in str(error.value.response)
    assert "hunter2" not in str(account.dynamodb.scan(TableName=account.table_name)["Items"])


def test_a_topic_with_a_login_is_not_returned_over_http(account: Account) -> None:
    Server(account, "always").client("ANN").create_topic(Name="t1", Attributes=LOGIN)
    ann = Server(account).client("ANN")
    assert refused(lambda: ann.get_topic_attributes(TopicArn=T1)) == ("AccessDenied", 403)
    assert refused(ann.list_topics) == ("AccessDenied", 403)
    ann.delete_topic(TopicArn=T1)
    assert ann.list_topics()["Topics"] == []
    assert account.secret_texts() == {}


@pytest.mark.parametrize(
    ("secure_calls", "header", "accepted"),
    [
        ("forwarded", "https", True),
        ("forwarded", "http", False),
        ("forwarded", "https, http", False),
        ("never", "https", False),
    ],
)
def test_a_proxys_headers_are_trusted_only_if_so_configured(
    account: Account, secure_calls: Any, header: str, *, accepted: bool
) -> None:
    ann = Server(account, secure_calls).client("ANN", x_forwarded_proto=header)
    if accepted:
        ann.create_topic(Name="t1", Attributes=LOGIN)
    else:
        assert refused(lambda: ann.create_topic(Name="t1", Attributes=LOGIN))[1] == 400


def test_a_function_url_counts_as_https_whatever_its_headers() -> None:
    assert secure("never")({"scheme": "https"}, {"x-forwarded-proto": "http"})
    assert not secure("never")({"scheme": "http"}, {})
