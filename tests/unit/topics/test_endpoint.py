"""The target that a topic becomes, as that target's own declaration takes it."""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.destination import TopicArn
from bucketcast.settings.options import read
from bucketcast.state.items import Topic
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.endpoint import kind_of, push_settings

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def pushed(kind: str, **given: str) -> dict[str, str]:
    """The settings of a topic with these attributes, which its kind of target takes."""
    attributes = parse_attributes({key.replace("_", "-"): text for key, text in given.items()})
    assert kind_of(attributes.shown) == kind
    arn = TopicArn("r", "acme", "t1").arn
    topic = Topic(arn=arn, kind=kind, id="1", owner="a", attributes=attributes.shown)
    settings = push_settings(topic, attributes.hidden)
    target = targets.load(kind)
    declared: Any = target.Settings
    assert target.check(read(declared, settings)) == []
    return settings


@pytest.mark.parametrize(("persistent", "timeout"), [("true", {}), ("false", {"timeout": "5s"})])
def test_http_endpoint_is_a_webhook(persistent: str, timeout: dict[str, str]) -> None:
    """Where an event is tried once, other topics may wait for as long as it takes."""
    given = {"OpaqueData": "me@example.com", "persistent": persistent}
    assert pushed("webhook", push_endpoint="http://h:81/p", **given) == {
        "endpoint": "http://h:81/p",
        "shape": "ceph",
        "opaque_data": "me@example.com",
        **timeout,
    }


def test_https_login_is_basic_and_the_ca_is_kept() -> None:
    settings = pushed("webhook", push_endpoint="https://al%3Aice:p%40ss@h/p", ca_location=PEM)
    assert settings["endpoint"] == "https://h/p"
    assert settings["auth_token"] == "Basic YWw6aWNlOnBAc3M="
    assert settings["cert_authority"] == PEM


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
    settings = pushed("amqp", push_endpoint="amqp://u:p@r/v", amqp_exchange="ex", **level)
    assert settings["url"] == "amqp://u:p@r/v"
    assert settings["exchange"] == "ex"
    assert settings["routing_key"] == "t1", "the topic's name"
    assert settings["mandatory"] == mandatory
    assert settings["delivery_mode"] == mode
    assert settings.get("ack") == ("none" if mode == "1" else None)


def test_http_attributes_reach_the_webhook() -> None:
    settings = pushed("webhook", push_endpoint="https://h/", verify_ssl="false", cloudevents="true")
    assert settings["tls_skip_verify"] == "on"
    assert settings["cloudevents"] == "on"


def test_kafka_prefers_the_login_in_the_attributes() -> None:
    settings = pushed(
        "kafka",
        push_endpoint="kafka://url:secret@b1:9093",
        kafka_brokers="b2:9093,b3",
        kafka_ack_level="none",
        use_ssl="true",
        ca_location=PEM,
        user_name="alice",
        password="pw",
        mechanism="SCRAM-SHA-512",
    )
    assert settings == {
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
    amqp = pushed("amqp", **amqps, verify_ssl="false")
    assert (amqp["url"], amqp["cert_authority"]) == ("amqps://u:p@r/v", PEM)
    assert amqp["tls_skip_verify"] == "on"
    kafka = pushed("kafka", push_endpoint="kafka://u:p@b:9093", use_ssl="true", mechanism="PLAIN")
    assert kafka["brokers"] == "b:9093"
    assert (kafka["sasl_username"], kafka["sasl_password"]) == ("u", "p")
    assert kafka["sasl_mechanism"] == "plain"
