"""The target that a topic becomes, as that target's own declaration takes it."""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import read
from bucketcast.topics.attributes import checked
from bucketcast.topics.endpoint import Pushed, target
from bucketcast.topics.model import Topic

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def pushed(**given: str) -> Pushed:
    values = {key.replace("_", "-"): text for key, text in given.items()}
    found = checked(values)
    topic = Topic(tenant="acme", owner="a", name="t1", region="r", attributes=found.shown)
    made = target(topic, found.hidden)
    assert made is not None
    kind = targets.load(made.kind)
    declared: Any = kind.Settings
    assert kind.check(read(declared, made.settings)) == []
    return made


def test_topic_without_an_endpoint_is_not_pushed() -> None:
    topic = Topic(tenant="", owner="a", name="t", region="r", attributes={"persistent": "true"})
    assert target(topic, {}) is None
    assert topic.kind == ""
    assert topic.target_arn == ""


def test_http_becomes_a_webhook() -> None:
    made = pushed(push_endpoint="http://h:81/p", OpaqueData="me@example.com")
    assert (made.kind, made.ack) == ("webhook", "any")
    assert made.settings == {
        "endpoint": "http://h:81/p",
        "shape": "ceph",
        "opaque_data": "me@example.com",
    }


def test_a_login_of_https_is_basic_and_its_ca_is_kept() -> None:
    made = pushed(push_endpoint="https://al%3Aice:p%40ss@h/p", ca_location=PEM)
    assert made.settings["endpoint"] == "https://h/p"
    assert made.settings["auth_token"] == "Basic YWw6aWNlOnBAc3M="
    assert made.settings["cert_authority"] == PEM
    assert "YWw6" not in repr(made)


@pytest.mark.parametrize(
    ("level", "mandatory", "mode"),
    [("none", "off", "1"), ("broker", "off", "2"), ("routable", "on", "2")],
)
def test_amqp_goes_to_its_exchange_by_the_topic_s_name(
    level: str, mandatory: str, mode: str
) -> None:
    made = pushed(push_endpoint="amqp://u:p@r/v", amqp_exchange="ex", amqp_ack_level=level)
    assert (made.kind, made.ack) == ("amqp", level)
    assert made.settings["url"] == "amqp://u:p@r/v"
    assert made.settings["exchange"] == "ex"
    assert made.settings["routing_key"] == "t1"
    assert made.settings["mandatory"] == mandatory
    assert made.settings["delivery_mode"] == mode
    assert made.settings.get("ack") == ("none" if level == "none" else None)


def test_http_s_own_attributes_reach_the_webhook() -> None:
    made = pushed(push_endpoint="https://h/", verify_ssl="false", cloudevents="true")
    assert made.settings["tls_skip_verify"] == "on"
    assert made.settings["cloudevents"] == "on"


def test_amqp_confirms_by_default() -> None:
    made = pushed(push_endpoint="amqps://r", amqp_exchange="ex", verify_ssl="false")
    assert made.ack == "broker"
    assert made.settings["tls_skip_verify"] == "on"


def test_kafka_has_the_topic_s_name_and_the_login_of_the_attributes_first() -> None:
    made = pushed(
        push_endpoint="kafka://url:secret@b1:9093",
        kafka_brokers="b2:9093,b3",
        kafka_ack_level="none",
        use_ssl="true",
        ca_location=PEM,
        user_name="alice",
        password="pw",
        mechanism="SCRAM-SHA-512",
    )
    assert (made.kind, made.ack) == ("kafka", "none")
    assert made.settings == {
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
    amqp = pushed(push_endpoint="amqps://u:p@r/v", amqp_exchange="ex", ca_location=PEM)
    assert (amqp.settings["url"], amqp.settings["cert_authority"]) == ("amqps://u:p@r/v", PEM)
    kafka = pushed(push_endpoint="kafka://u:p@b:9093", use_ssl="true", mechanism="PLAIN")
    assert kafka.settings["brokers"] == "b:9093"
    assert (kafka.settings["sasl_username"], kafka.settings["sasl_password"]) == ("u", "p")
    assert (kafka.ack, kafka.settings["sasl_mechanism"]) == ("broker", "plain")
