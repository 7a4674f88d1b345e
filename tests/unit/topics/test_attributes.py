"""What may be given as attributes of a topic, and what of it is hidden."""

import pytest

from bucketcast.topics.attributes import has_login, parse_attributes
from bucketcast.topics.errors import TopicError

EXCHANGE = {"amqp-exchange": "ex"}
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def refusal(**given: str) -> str:
    with pytest.raises(TopicError) as caught:
        parse_attributes({key.replace("_", "-"): text for key, text in given.items()})
    assert caught.value.code == "InvalidArgument"
    return str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://example.org",
        "https://example.org:8443/hook?a=b",
        "amqp://rabbit",
        "amqps://rabbit.example.org:5671/vhost",
        "kafka://broker_1:9092",
        "http://[::1]:9000/x",
    ],
)
def test_endpoints_of_cephs_form_are_accepted(endpoint: str) -> None:
    given = {"push-endpoint": endpoint, **EXCHANGE}
    assert parse_attributes(given).shown["push-endpoint"].lower() == endpoint.lower()


@pytest.mark.parametrize(
    "endpoint",
    [
        "not a url",
        "ftp://example.org",
        "http://",
        "http://user@host",
        "http://:secret@host",
        "http://host:65536",
        "kafka://broker/topic",
        "http://host?query",
    ],
)
def test_invalid_endpoints_are_refused_without_their_password(endpoint: str) -> None:
    problem = refusal(push_endpoint=endpoint)
    assert problem.startswith("push-endpoint: found")
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("key", "text", "allowed"),
    [
        ("persistent", "maybe", "true or false"),
        ("cloudevents", "on", "true or false"),
        ("amqp-ack-level", "all", "none or broker or routable"),
        ("kafka-ack-level", "routable", "none or broker"),
        ("mechanism", "GSSAPI", "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("time_to_live", "-1", "a whole number"),
        ("max_retries", "1.5", "a whole number"),
        ("retry_sleep_duration", "99999999999", "a whole number"),
    ],
)
def test_invalid_value_names_its_field_and_the_allowed_ones(
    key: str, text: str, allowed: str
) -> None:
    with pytest.raises(TopicError) as caught:
        parse_attributes({key: text})
    assert str(caught.value).startswith(f"{key}: found {text!r}")
    assert allowed in str(caught.value)


@pytest.mark.parametrize("text", ["None", "none", ""])
def test_number_none_means_the_deployments_default(text: str) -> None:
    assert parse_attributes({"time_to_live": text, "max_retries": "0"}).shown == {
        "max_retries": "0"
    }


def test_switches_are_accepted_in_cephs_spellings() -> None:
    attributes = parse_attributes(
        {"persistent": "True", "verify-ssl": "0", "use-ssl": "FALSE"}
    ).shown
    assert attributes == {"persistent": "true", "verify-ssl": "false", "use-ssl": "false"}


def test_an_amqp_endpoint_needs_its_exchange() -> None:
    assert "amqp-exchange: missing" in refusal(push_endpoint="amqp://rabbit")


def test_logins_of_url_and_attributes_are_hidden() -> None:
    given = {"push-endpoint": "amqp://u:p@rabbit:5672/v", **EXCHANGE, "Unknown": "kept"}
    attributes = parse_attributes(given)
    assert attributes.shown == {**given, "push-endpoint": "amqp://rabbit:5672/v"}
    assert attributes.hidden == {"push-endpoint": "amqp://u:p@rabbit:5672/v"}
    assert "u:p" not in repr(attributes)
    given = {
        "push-endpoint": "kafka://b",
        "use-ssl": "true",
        "user-name": "alice",
        "password": "pw",
    }
    attributes = parse_attributes(given)
    assert attributes.shown == {"push-endpoint": "kafka://b", "use-ssl": "true"}
    assert attributes.hidden == {"user-name": "alice", "password": "pw"}


def test_half_a_login_or_one_without_kafka_is_refused() -> None:
    assert "password: missing beside user-name" in refusal(user_name="alice")
    assert "user-name: missing beside password" in refusal(password="secret")
    problem = refusal(push_endpoint="https://h", user_name="alice", password="secret")
    assert "kafka://" in problem
    assert "secret" not in problem


def test_certificate_may_be_text() -> None:
    assert (
        parse_attributes({"push-endpoint": "https://h", "ca-location": PEM}).shown["ca-location"]
        == PEM
    )
    assert "PEM text" in refusal(push_endpoint="https://h", ca_location="/etc/ssl/ca.pem")


def test_has_login_accepts_invalid_attributes() -> None:
    assert has_login({"push-endpoint": "amqp://u:p@r"})
    assert has_login({"password": "x"})
    assert not has_login({"push-endpoint": "http://h/a@b", "OpaqueData": "me@example.com"})


def test_attributes_are_measured_as_json() -> None:
    """As they are stored: a control character is six bytes there."""
    with pytest.raises(TopicError, match=r"Attributes: found 240,\d{3} bytes as JSON"):
        parse_attributes({"OpaqueData": "\x01" * 40_000})
    assert parse_attributes({"OpaqueData": "x" * 65_000})
    with pytest.raises(TopicError, match="the login"):
        parse_attributes({"user-name": "u", "password": "p" * 20_000, "push-endpoint": "kafka://a"})
    with pytest.raises(TopicError, match="push-endpoint: found more"):
        parse_attributes({"push-endpoint": "http://a/" + "x" * 9_000})
