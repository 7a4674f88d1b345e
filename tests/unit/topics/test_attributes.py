"""What may be given as attributes of a topic, and what of it is hidden."""

import pytest

from bucketcast.topics.attributes import checked, has_login
from bucketcast.topics.errors import TopicError

EXCHANGE = {"amqp-exchange": "ex"}
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def refusal(**given: str) -> str:
    with pytest.raises(TopicError) as caught:
        checked({key.replace("_", "-"): text for key, text in given.items()})
    assert caught.value.code == "InvalidArgument"
    return str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://example.org",
        "https://example.org:8443/hook?a=b",
        "HTTP://127.0.0.1:80/",
        "amqp://rabbit",
        "amqps://rabbit.example.org:5671/vhost",
        "kafka://broker_1:9092",
        "http://[::1]:9000/x",
    ],
)
def test_endpoints_of_cephs_form_are_accepted(endpoint: str) -> None:
    given = {"push-endpoint": endpoint, **EXCHANGE}
    assert checked(given).shown["push-endpoint"].lower() == endpoint.lower()


@pytest.mark.parametrize(
    "endpoint",
    [
        "not a url",
        "ftp://example.org",
        "http://",
        "http://user@host",
        "http://:secret@host",
        "http://host:0",
        "http://host:65536",
        "http://ho st",
        "kafka://broker/topic",
        "http://host?query",
    ],
)
def test_others_are_refused_without_their_password(endpoint: str) -> None:
    problem = refusal(push_endpoint=endpoint)
    assert problem.startswith("push-endpoint: found")
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("key", "text", "allowed"),
    [
        ("persistent", "maybe", "true or false"),
        ("verify-ssl", "no", "true or false"),
        ("use-ssl", "", "true or false"),
        ("cloudevents", "on", "true or false"),
        ("amqp-ack-level", "all", "none or broker or routable"),
        ("kafka-ack-level", "routable", "none or broker"),
        ("mechanism", "GSSAPI", "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("http-ack-level", "99", "any, non-error or a status"),
        ("time_to_live", "-1", "a whole number"),
        ("max_retries", "1.5", "a whole number"),
        ("retry_sleep_duration", "99999999999", "a whole number"),
    ],
)
def test_a_value_that_cannot_be_names_its_field_and_what_is_allowed(
    key: str, text: str, allowed: str
) -> None:
    with pytest.raises(TopicError) as caught:
        checked({key: text})
    assert str(caught.value).startswith(f"{key}: found {text!r}")
    assert allowed in str(caught.value)


@pytest.mark.parametrize("text", ["None", "none", ""])
def test_a_number_of_none_is_the_deployment_s(text: str) -> None:
    assert checked({"time_to_live": text, "max_retries": "0"}).shown == {"max_retries": "0"}


def test_switches_are_accepted_in_cephs_spellings() -> None:
    found = checked({"persistent": "True", "verify-ssl": "0", "use-ssl": "FALSE"}).shown
    assert found == {"persistent": "true", "verify-ssl": "false", "use-ssl": "false"}


def test_an_amqp_endpoint_needs_its_exchange() -> None:
    assert "amqp-exchange: missing" in refusal(push_endpoint="amqp://rabbit")


def test_logins_are_hidden_wherever_they_stand() -> None:
    given = {"push-endpoint": "amqp://u:p@rabbit:5672/v", **EXCHANGE, "Unknown": "kept"}
    found = checked(given)
    assert found.shown == {**given, "push-endpoint": "amqp://rabbit:5672/v"}
    assert found.hidden == {"push-endpoint": "amqp://u:p@rabbit:5672/v"}
    assert "u:p" not in repr(found)
    given = {
        "push-endpoint": "kafka://b",
        "use-ssl": "true",
        "user-name": "alice",
        "password": "pw",
    }
    found = checked(given)
    assert found.shown == {"push-endpoint": "kafka://b", "use-ssl": "true"}
    assert found.hidden == {"user-name": "alice", "password": "pw"}


def test_a_login_that_goes_nowhere_or_in_the_clear_is_refused() -> None:
    assert "password: missing beside user-name" in refusal(user_name="alice")
    assert "user-name: missing beside password" in refusal(password="secret")
    problem = refusal(push_endpoint="https://h", user_name="alice", password="secret")
    assert "kafka://" in problem
    assert "secret" not in problem
    assert "use-ssl=true" in refusal(push_endpoint="kafka://alice:secret@b")


def test_a_certificate_is_given_as_its_text() -> None:
    assert checked({"push-endpoint": "https://h", "ca-location": PEM}).shown["ca-location"] == PEM
    assert "PEM text" in refusal(push_endpoint="https://h", ca_location="/etc/ssl/ca.pem")


def test_or_by_its_path_where_files_are_read() -> None:
    found = checked({"push-endpoint": "https://h", "ca-location": "/ca.pem"}, lambda _: PEM)
    assert (found.shown["ca-location"], found.authority) == ("/ca.pem", PEM)


def test_too_much_is_refused() -> None:
    with pytest.raises(TopicError, match="at most 200,000"):
        checked({"OpaqueData": "x" * 200_001})


def test_logins_are_seen_in_what_is_not_checked_yet() -> None:
    assert has_login({"push-endpoint": "amqp://u:p@r"})
    assert has_login({"password": "x"})
    assert not has_login({"push-endpoint": "http://h/a@b", "OpaqueData": "me@example.com"})


def test_attributes_are_measured_as_they_are_kept() -> None:
    """DynamoDB takes no more than 400 KB, and a control character is six of them in JSON."""
    with pytest.raises(TopicError, match=r"Attributes: found 240,\d{3} bytes as JSON"):
        checked({"OpaqueData": "\x01" * 40_000})
    assert checked({"OpaqueData": "x" * 150_000})
    with pytest.raises(TopicError, match="the login"):
        checked({"user-name": "u", "password": "p" * 20_000, "push-endpoint": "kafka://a"})
    with pytest.raises(TopicError, match="push-endpoint: found more"):
        checked({"push-endpoint": "http://a/" + "x" * 9_000})
