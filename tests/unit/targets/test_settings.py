"""The settings of targets: what is refused, what is noted, and where a target says it is."""

from typing import Any, Final

import pytest

from bucketcast import targets
from bucketcast.errors import ConfigErrors, NotAuthorized
from bucketcast.settings.options import read
from tests.unit.samples import LATELY, event

CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"
USUAL: Final[dict[str, dict[str, str]]] = {
    "amqp": {"url": "amqp://h", "exchange": "e", "exchange_type": "fanout", "routing_key": "k"},
    "elasticsearch": {"url": "http://localhost:9200", "index": "events"},
    "kafka": {"brokers": "h", "topic": "t"},
    "mqtt": {"broker": "tcp://h", "topic": "t"},
    "mysql": {"table": "t"},
    "nats": {"address": "localhost", "subject": "a.b"},
    "nsq": {"nsqd_address": "h", "topic": "t"},
    "postgres": {"table": "t"},
    "redis": {"address": "h", "key": "k"},
    "webhook": {"endpoint": "https://example.org/"},
}
STREAMS: Final = {"streaming": "on", "streaming_cluster_id": "test-cluster"}
CHECKED: Final[dict[str, list[tuple[dict[str, str], list[str]]]]] = {
    "amqp": [
        ({"url": "http://h"}, ["url"]),
        ({"url": "amqp://h/?heartbeat=10"}, ["url"]),
        ({"url": "amqp://h?auth_mechanism=gssapi"}, ["url"]),
        ({"url": "amqp://h#x"}, ["url"]),
        ({"exchange": "", "exchange_type": "", "routing_key": ""}, ["exchange"]),
        ({"exchange": ""}, ["exchange_type"]),
        ({"exchange": "é" * 128}, ["exchange"]),
        ({"routing_key": "k" * 256}, ["routing_key"]),
        ({"exchange_type": "", "durable": "on"}, ["durable"]),
        ({"exchange_type": "", "no_wait": "on"}, ["no_wait"]),
        ({"exchange_type": "", "auto_deleted": "on"}, ["auto_deleted"]),
        ({"internal": "on"}, ["internal"]),
        ({"immediate": "on"}, ["immediate"]),
        ({"cert_authority": CERTIFICATE}, ["cert_authority"]),
        ({"tls_skip_verify": "on"}, ["tls_skip_verify"]),
        ({"url": "amqps://h", "client_cert": CERTIFICATE}, ["client_key"]),
        ({"url": "amqps://h/?auth_mechanism=external"}, ["client_cert"]),
        ({}, []),
        ({"exchange": "e" * 255, "routing_key": "k" * 255}, []),
        ({"exchange": "", "exchange_type": "", "routing_key": "q"}, []),
        ({"exchange_type": "x-consistent-hash", "delivery_mode": "2"}, []),
        ({"url": "secret:u", "cert_authority": CERTIFICATE, "delivery_mode": "secret:d"}, []),
        ({"internal": "secret:i", "immediate": "secret:m"}, []),
    ],
    "elasticsearch": [
        ({"url": "ftp://localhost"}, ["url"]),
        ({"url": "http://localhost/?pretty=1"}, ["url"]),
        ({"username": "alice"}, ["password"]),
        ({"password": "x"}, ["username"]),
        ({"username": "alice", "password": "x", "api_key": "k"}, ["api_key"]),
        ({"url": "http://alice:x@localhost", "api_key": "k"}, ["api_key"]),
        ({"tls_skip_verify": "on"}, ["tls_skip_verify"]),
        ({"cert_authority": CERTIFICATE}, ["cert_authority"]),
        ({"index": "Events"}, ["index"]),
        ({"index": "-events"}, ["index"]),
        ({"index": "a b"}, ["index"]),
        ({"index": ".."}, ["index"]),
        ({"index": "e" * 250}, ["index"]),
        ({"index": "e" * 256, "format": "access"}, ["index"]),
        ({}, []),
        ({"url": "https://alice:%20x@[::1]:9200/search/", "tls_skip_verify": "on"}, []),
        ({"url": "secret:u", "index": "secret:i", "username": "a", "password": "secret:p"}, []),
        ({"index": "e" * 249}, []),
        ({"index": "e" * 255, "format": "access"}, []),
        ({"index": "événements.2026_01-x"}, []),
    ],
    "kafka": [
        ({"brokers": ","}, ["brokers"]),
        ({"brokers": "a:1, kafka://b"}, ["brokers"]),
        ({"topic": "no such"}, ["topic"]),
        ({"topic": ".."}, ["topic"]),
        ({"topic": "t" * 250}, ["topic"]),
        ({"sasl": "on"}, ["sasl_username"]),
        ({"sasl_username": "u", "sasl_password": "p"}, ["sasl_username", "sasl_password"]),
        ({"tls_skip_verify": "on"}, ["tls_skip_verify"]),
        ({"tls": "on", "client_tls_cert": "-----BEGIN X"}, ["client_tls_key"]),
        ({"tls": "on", "client_tls_key": "-----BEGIN X"}, ["client_tls_cert"]),
        ({"compression_level": "1"}, ["compression_level"]),
        ({"compression_codec": "snappy", "compression_level": "1"}, ["compression_level"]),
        ({"compression_codec": "gzip", "compression_level": "10"}, ["compression_level"]),
        ({"compression_codec": "zstd", "compression_level": "13"}, ["compression_level"]),
        ({"compression_codec": "lz4", "compression_level": "12"}, []),
        ({"topic": "secret:a topic", "brokers": "secret:b"}, []),
        ({"compression_level": "secret:l"}, []),
    ],
    "mqtt": [
        ({}, []),
        ({"broker": "http://h:1"}, ["broker"]),
        ({"broker": "mqtt://h:1"}, ["broker"]),
        ({"broker": "tcp://h:1/path"}, ["broker"]),
        ({"broker": "ws://h:1/path?query"}, []),
        ({"broker": "tcp://[::1]"}, []),
        ({"broker": "tcp://hö:1"}, ["broker"]),
        ({"broker": "tcp://u:p@h", "username": "u"}, ["username"]),
        ({"broker": "tcp://u:p@h", "password": "p"}, ["password"]),
        ({"broker": "secret:url", "password": "p"}, []),
        ({"password": "p"}, ["username"]),
        ({"username": "u"}, []),
        ({"topic": "a/+"}, ["topic"]),
        ({"topic": "#"}, ["topic"]),
        ({"topic": "a\x00b"}, ["topic"]),
        ({"topic": "ü" * 32_768}, ["topic"]),
        ({"topic": "$aws/rules/x", "client_id": "ü" * 100}, []),
        ({"client_id": "a\nb"}, ["client_id"]),
        ({"shape": "cloudevents-binary"}, []),
        ({"shape": "cloudevents-binary", "version": "3.1.1"}, ["shape"]),
        ({"shape": "cloudevents-binary", "version": "3.1"}, ["shape"]),
        ({"client_id": "elevenbytes", "version": "3.1"}, []),
        ({"client_id": "twelve-bytes", "version": "3.1"}, ["client_id"]),
        ({"client_id": "secret:id", "version": "3.1"}, []),
        ({"username": "a\x7f", "password": "p"}, ["username"]),
        ({"keep_alive_interval": "18h12m15s"}, []),
        ({"cert_authority": CERTIFICATE}, ["cert_authority"]),
        ({"tls_skip_verify": "on", "broker": "ws://h"}, ["tls_skip_verify"]),
        ({"cert_authority": CERTIFICATE, "tls_skip_verify": "on", "broker": "wss://h"}, []),
        ({"client_cert": CERTIFICATE, "broker": "tls://h"}, ["client_key"]),
        ({"topic": "secret:topic", "keep_alive_interval": "secret:it", "username": "u"}, []),
    ],
    "mysql": [
        ({}, ["dsn_string"]),
        ({"username": "u"}, ["dsn_string"]),
        ({"host": "h"}, ["username"]),
        ({"dsn_string": "secret:x"}, []),
        ({"dsn_string": "u@tcp(h)/d", "client_cert": CERTIFICATE}, ["client_key"]),
    ],
    "nats": [
        ({}, []),
        ({"subject": "secret:subject"}, []),
        ({"subject": "a b"}, ["subject"]),
        ({"subject": "a.*"}, ["subject"]),
        ({"subject": "a.>"}, ["subject"]),
        ({"subject": "a..b"}, ["subject"]),
        ({"username": "alice"}, ["password"]),
        ({"password": "x"}, ["username"]),
        ({"username": "alice", "password": "x", "token": "t"}, ["token"]),
        ({"token": "secret:t", "nkey_seed": "secret:n"}, ["nkey_seed"]),
        ({"user_credentials": "-----BEGIN NATS USER JWT-----\nx\n"}, ["user_credentials"]),
        ({"user_credentials": "secret:creds"}, []),
        ({"tls_skip_verify": "on"}, ["tls_skip_verify"]),
        ({"tls_skip_verify": "on", "tls_handshake_first": "on"}, []),
        ({"client_cert": CERTIFICATE}, ["client_key"]),
        ({"streaming": "on"}, ["streaming_cluster_id"]),
        ({"streaming_enable": "on"}, ["streaming_cluster_id"]),
        ({**STREAMS, "streaming_cluster_id": "test cluster"}, ["streaming_cluster_id"]),
        (STREAMS, []),
        ({**STREAMS, "shape": "cloudevents-binary"}, ["shape"]),
        ({**STREAMS, "jetstream": "on"}, ["jetstream"]),
    ],
    "nsq": [
        ({"topic": "a/b"}, ["topic"]),
        ({"topic": "ü"}, ["topic"]),
        ({"topic": "n" * 65}, ["topic"]),
        ({"topic": "#ephemeral"}, ["topic"]),
        ({"topic": "a#ephemeral#ephemeral"}, ["topic"]),
        ({"topic": "a\n"}, ["topic"]),
        ({"cert_authority": CERTIFICATE}, ["cert_authority"]),
        ({"cert_authority": CERTIFICATE, "tls": "on"}, []),
        ({"cert_authority": CERTIFICATE, "tls_enable": "on"}, []),
        ({"client_cert": CERTIFICATE, "tls": "on"}, ["client_key"]),
        ({"tls_skip_verify": "on"}, []),
        ({"topic": "secret:topic", "auth_secret": "secret:it"}, []),
    ],
    "postgres": [
        ({}, ["connection_string"]),
        ({"password": "x", "database": "d"}, ["connection_string"]),
        ({"host": "h"}, ["username"]),
        ({"connection_string": "user=u", "client_cert": CERTIFICATE}, ["client_key"]),
    ],
    "redis": [
        (
            {"tls_skip_verify": "on", "user": "u", "client_cert": CERTIFICATE},
            ["tls_skip_verify", "client_cert", "client_key", "password"],
        ),
    ],
    "webhook": [
        ({"auth_token": "three of them"}, ["auth_token"]),
        ({"client_cert": CERTIFICATE}, ["client_key"]),
        ({"client_key": "-----BEGIN PRIVATE KEY-----"}, ["client_cert"]),
        ({"endpoint": "https://example.org/höök"}, ["endpoint"]),
        ({}, []),
        ({"auth_token": "secret:a token", "client_cert": "secret:c", "client_key": "secret:k"}, []),
        ({"endpoint": "secret:e", "timeout": "secret:t", "in_flight": "secret:n"}, []),
    ],
}
"""By kind: what differs from the usual settings, and the keys that are refused."""


def target(kind: str, texts: dict[str, str]) -> Any:
    made: Any = targets.load(kind)
    return made(read(made.Settings, {**USUAL[kind], **texts}))


@pytest.mark.parametrize(
    ("kind", "texts", "keys"),
    [(kind, *row) for kind, rows in CHECKED.items() for row in rows],
)
def test_check_names_the_invalid_option(kind: str, texts: dict[str, str], keys: list[str]) -> None:
    made = target(kind, texts)
    assert [key for key, *_ in made.check(made.settings)] == keys


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("amqp", "delivery_mode", "3"),
        ("mqtt", "keep_alive_interval", "18h12m16s"),
        ("mysql", "port", "65536"),
        ("postgres", "port", "0"),
        ("webhook", "in_flight", "901"),
        ("webhook", "timeout", "6m"),
    ],
)
def test_a_figure_beyond_its_limits_is_refused(kind: str, key: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=rf"{key}: found '{text}'; allowed is .+ to "):
        target(kind, {key: text})


@pytest.mark.parametrize(
    ("kind", "texts", "said"),
    [
        ("amqp", {"url": "http://u:s3cret@h"}, "url: allowed is an amqp:// or amqps:// URL"),
        ("mqtt", {"broker": "http://u:s3cret@h"}, r"broker: allowed is .*tcp://"),
        ("mqtt", {"broker": "tcp://h/x?s3cret"}, "broker: allowed is a path for ws://"),
        ("mysql", {"dsn_string": "u:s3cret@tcp(h/d"}, r"the address is not tcp\(host:port\)"),
        ("postgres", {"connection_string": "host=a s3cret"}, "it is no list of name=value"),
    ],
)
def test_a_wrong_login_is_reported_at_first_use_without_its_value(
    kind: str, texts: dict[str, str], said: str
) -> None:
    """Where it comes from a secret it was not checked before."""
    made = target(kind, texts)
    with pytest.raises(NotAuthorized, match=said) as refused:
        made.send([event(time=LATELY)])
    shown = (refused.value, made.where, made.settings, made.check(made.settings))
    assert "s3cret" not in "".join(map(str, shown))


@pytest.mark.parametrize("password", ["12/xyz", "12#xyz", "12?xyz", "xyz/q"])
@pytest.mark.parametrize(
    ("kind", "key", "scheme"),
    [("amqp", "url", "amqp"), ("mqtt", "broker", "tcp"), ("elasticsearch", "url", "https")],
)
def test_a_password_that_is_not_percent_encoded_is_refused_and_hidden(
    kind: str, key: str, scheme: str, password: str
) -> None:
    texts = {key: f"{scheme}://bob:{password}@host"}
    with pytest.raises(ConfigErrors) as refused:
        target(kind, texts)
    assert "percent-encoded" in str(refused.value)
    assert "xyz" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "texts", "where"),
    [
        ("redis", {"address": "h", "password": "hunter2"}, "h:6379, hash k"),
        ("redis", {"address": "h:1", "password": "hunter2"}, "h:1, hash k"),
        ("redis", {"address": "[::1]:7", "password": "hunter2"}, "[::1]:7, hash k"),
        ("redis", {"address": "[::1]", "password": "hunter2"}, "[::1]:6379, hash k"),
        ("nsq", {"nsqd_address": "h", "auth_secret": "hunter2"}, "h:4150, topic t"),
        ("nats", {"address": "h"}, "h:4222, subject a.b"),
        ("mqtt", {"broker": "tcp://h"}, "tcp://h:1883, topic t"),
        ("mqtt", {"broker": "tls://u:p@h"}, "tls://h:8883, topic t"),
        ("mqtt", {"broker": "ssl://h:1"}, "ssl://h:1, topic t"),
        ("mqtt", {"broker": "tcps://h"}, "tcps://h:8883, topic t"),
        ("mqtt", {"broker": "ws://h/mqtt?token"}, "ws://h:80/mqtt, topic t"),
        ("mqtt", {"broker": "wss://h"}, "wss://h:443/, topic t"),
        ("mqtt", {"broker": "tcp://[::1]:7"}, "tcp://[::1]:7, topic t"),
        (
            "elasticsearch",
            {"url": "https://a:hunter2@[::1]:9/s/"},
            "https://[::1]:9/s, index events",
        ),
    ],
)
def test_where_has_the_default_port_and_no_secret(
    kind: str, texts: dict[str, str], where: str
) -> None:
    made = target(kind, texts)
    assert made.where == where
    assert "hunter2" not in repr(made.settings)


NOTED: Final[dict[str, list[tuple[dict[str, str], list[str]]]]] = {
    "amqp": [
        ({}, []),
        ({"publisher_confirms": "off"}, ["always awaited"]),
    ],
    "mqtt": [
        ({}, ["qos = 0: the broker confirms no event"]),
        ({"qos": "1"}, []),
        ({"qos": "1", "version": "3.1.1"}, ["may also confirm events that the user may not"]),
        ({"qos": "1", "version": "3.1"}, ["version = 3.1: a broker may also confirm events"]),
        ({"qos": "1", "reconnect_interval": "10s"}, ["reconnect_interval does nothing here"]),
        ({"qos": "1", "queue_dir": "/events"}, ["the target's SQS queue stores waiting events"]),
    ],
    "nats": [
        ({}, []),
        (STREAMS, ["jetstream = on"]),
        ({**STREAMS, "streaming_async": "on", "streaming_max_pub_acks_in_flight": "9"}, ["June"]),
        ({**STREAMS, "streaming_max_pub_acks_in_flight": "9"}, ["June", "without streaming_async"]),
        ({"streaming_cluster_id": "x", "streaming_async": "on"}, ["cluster_id, streaming_async"]),
        ({"queue_dir": "/events", "streaming_cluster_id": "x"}, ["queue_dir", "without streaming"]),
    ],
    "nsq": [
        ({}, []),
        ({"topic": "t#ephemeral"}, ["nsqd never writes it to disk"]),
        ({"tls_skip_verify": "on"}, ["does nothing while tls is off"]),
        ({"queue_dir": "/events"}, ["the target's SQS queue stores waiting events"]),
    ],
}
"""By kind: what differs from the usual settings, and a part of each note."""


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [(kind, *row) for kind, rows in NOTED.items() for row in rows],
)
def test_notes_explain_settings(kind: str, texts: dict[str, str], expected: list[str]) -> None:
    made = target(kind, texts)
    notes = made.notes(made.settings)
    assert len(notes) == len(expected)
    assert all(part in note for part, note in zip(expected, notes, strict=True))
