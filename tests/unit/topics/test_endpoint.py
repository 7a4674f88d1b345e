"""The target that a topic becomes, as that target's own declaration takes it."""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import read
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.endpoint import PushTarget, push_target
from bucketcast.topics.model import Topic

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def pushed(**given: str) -> PushTarget:
    values = {key.replace("_", "-"): text for key, text in given.items()}
    attributes = parse_attributes(values)
    topic = Topic(tenant="acme", owner="a", name="t1", region="r", attributes=attributes.shown)
    target = push_target(topic, attributes.hidden)
    assert target is not None
    kind = targets.load(target.kind)
    declared: Any = kind.Settings
    assert kind.check(read(declared, target.settings)) == []
    return target


def test_topic_without_an_endpoint_is_not_pushed() -> None:
    topic = Topic(tenant="", owner="a", name="t", region="r", attributes={"persistent": "true"})
    assert push_target(topic, {}) is None
    assert topic.kind == ""
    assert topic.target_arn == ""


@pytest.mark.parametrize(("persistent", "timeout"), [("true", {}), ("false", {"timeout": "5s"})])
def test_http_endpoint_is_a_webhook(persistent: str, timeout: dict[str, str]) -> None:
    """Where an event is tried once, other topics may wait for as long as it takes."""
    given = {"OpaqueData": "me@example.com", "persistent": persistent}
    target = pushed(push_endpoint="http://h:81/p", **given)
    assert target.kind == "webhook"
    assert target.settings == {
        "endpoint": "http://h:81/p",
        "shape": "ceph",
        "opaque_data": "me@example.com",
        **timeout,
    }


def test_https_login_is_basic_and_the_ca_is_kept() -> None:
    target = pushed(push_endpoint="https://al%3Aice:p%40ss@h/p", ca_location=PEM)
    assert target.settings["endpoint"] == "https://h/p"
    assert target.settings["auth_token"] == "Basic YWw6aWNlOnBAc3M="
    assert target.settings["cert_authority"] == PEM
    assert "YWw6" not in repr(target)


@pytest.mark.parametrize(
    ("level", "mandatory", "mode"),
    [
        ({}, "off", "2"),
        ({"amqp_ack_level": "none"}, "off", "1"),
        ({"amqp_ack_level": "broker"}, "off", "2"),
        ({"amqp_ack_level": "routable"}, "on", "2"),
    ],
)
def test_amqp_is_confirmed_by_the_broker_unless_the_topic_wants_none(
    level: dict[str, str], mandatory: str, mode: str
) -> None:
    target = pushed(push_endpoint="amqp://u:p@r/v", amqp_exchange="ex", **level)
    assert target.kind == "amqp"
    assert target.settings["url"] == "amqp://u:p@r/v"
    assert target.settings["exchange"] == "ex"
    assert target.settings["routing_key"] == "t1", "the topic's name"
    assert target.settings["mandatory"] == mandatory
    assert target.settings["delivery_mode"] == mode
    assert target.settings.get("ack") == ("none" if mode == "1" else None)


def test_http_attributes_reach_the_webhook() -> None:
    target = pushed(push_endpoint="https://h/", verify_ssl="false", cloudevents="true")
    assert target.settings["tls_skip_verify"] == "on"
    assert target.settings["cloudevents"] == "on"


def test_kafka_prefers_the_login_in_the_attributes() -> None:
    target = pushed(
        push_endpoint="kafka://url:secret@b1:9093",
        kafka_brokers="b2:9093,b3",
        kafka_ack_level="none",
        use_ssl="true",
        ca_location=PEM,
        user_name="alice",
        password="pw",
        mechanism="SCRAM-SHA-512",
    )
    assert target.kind == "kafka"
    assert target.settings == {
        "brokers": "b1:9093,b2:9093,b3",
        "topic": "t1",
        "ack": "none",
        "tls": "on",
        "cert_authority": PEM,
        "sasl": "on",
        "sasl_username": "alice",
        "sasl_password": "pw",
        "sasl_mechanism": "scram-sha-512",
        "shape": "ceph",
    }


def test_a_certificate_and_a_login_of_the_url_reach_amqp_and_kafka() -> None:
    amqps = {"push_endpoint": "amqps://u:p@r/v", "amqp_exchange": "ex", "ca_location": PEM}
    amqp = pushed(**amqps, verify_ssl="false")
    assert (amqp.settings["url"], amqp.settings["cert_authority"]) == ("amqps://u:p@r/v", PEM)
    assert amqp.settings["tls_skip_verify"] == "on"
    kafka = pushed(push_endpoint="kafka://u:p@b:9093", use_ssl="true", mechanism="PLAIN")
    assert kafka.settings["brokers"] == "b:9093"
    assert (kafka.settings["sasl_username"], kafka.settings["sasl_password"]) == ("u", "p")
    assert kafka.settings["sasl_mechanism"] == "plain"
