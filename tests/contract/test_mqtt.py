"""MQTT alone: topics, versions, websockets, limits and its own errors."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from bucketcast.errors import NotAuthorized, NotConnected, TimedOut
from bucketcast.shapes import minio
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.mqtt import Target
from tests.contract.case import bounded, event, events, path_of
from tests.contract.endpoint import endpoint
from tests.contract.target_factory import making, running
from tests.servers import mqtt
from tests.servers.link import Links
from tests.servers.mqtt import OBSERVER, OBSERVER_PASSWORD, PASSWORD, USER, WAIT, MqttServer
from tests.servers.tls import Tls
from tests.unit.samples import kinds_of

Make = Callable[..., Target]
SUBSCRIBED = b"\x90"
"""The type of the answer to a subscription, which a publisher never gets."""
QOS = pytest.mark.parametrize("qos", ["0", "1", "2"])
_client = re.compile(r"New client connected from \S+ as (\S+) \(p(\d), c(\d), k(\d+), u'alice'\)")


mosquitto = running("mqtt")
make = making(Target, "mqtt")


@pytest.fixture
def limited(servers_folder: Path, tls: Tls) -> Iterator[Callable[[str], MqttServer]]:
    """Start a Mosquitto with these lines in its configuration."""
    started: list[MqttServer] = []

    def start(lines: str) -> MqttServer:
        started.append(
            mqtt.start(servers_folder / f"mqtt-{lines.split(maxsplit=1)[0]}", tls, more=lines)
        )
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


def logins(server: MqttServer) -> list[tuple[str, ...]]:
    """Client id, number of the version, clean session and keep-alive of each of alice's logins."""
    return [match.groups() for match in _client.finditer(server.log())]


def deliver(server: MqttServer, target: Target, count: int = 3) -> list[str]:
    """Send events, all confirmed; return the paths of those that arrived."""
    assert bounded(lambda: target.send(events(count))) == {}
    return [path_of(arrival) for arrival in server.received()]


def expected_paths(count: int = 3) -> list[str]:
    return [minio.path(put) for put in events(count)]


# Messages and topics


@pytest.mark.parametrize("version", ["5", "3.1.1", "3.1"])
@QOS
def test_batch_arrives_in_order(mosquitto: MqttServer, make: Make, qos: str, version: str) -> None:
    assert deliver(mosquitto, make(qos=qos, version=version), 1000) == expected_paths(1000)


def test_events_go_to_the_topic(mosquitto: MqttServer, make: Make) -> None:
    assert make(topic="bucket/other/ü x").send(events(2)) == {}
    assert len(mosquitto.received("bucket/other/ü x")) == 2
    assert mosquitto.received() == []


@pytest.mark.parametrize("version", ["5", "auto"])
def test_mqtt_5_carries_content_type_and_event_id(
    mosquitto: MqttServer, make: Make, version: str
) -> None:
    photo = event("photo")
    assert make(version=version).send([photo]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == {"content-type": "application/json", "event-id": photo.id}


@pytest.mark.parametrize("version", ["3.1.1", "3.1"])
def test_mqtt_3_carries_only_the_body(mosquitto: MqttServer, make: Make, version: str) -> None:
    target = make(version=version)
    assert target.send(events(1)) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == target.headers(event("a")) == {}


def test_messages_do_not_expire(mosquitto: MqttServer, make: Make) -> None:
    assert make().send(events(1)) == {}
    (message,) = mosquitto.messages()
    assert not hasattr(message.properties, "MessageExpiryInterval")


def test_event_without_subscribers_is_delivered(make: Make) -> None:
    login = {"username": OBSERVER, "password": OBSERVER_PASSWORD}
    for version in ("5", "3.1.1", "3.1"):
        assert make(topic="no/subscribers", version=version, **login).send(events(2)) == {}


@QOS
@pytest.mark.parametrize("listener", ["ws", "wss"])
def test_websockets_carry_events(
    mosquitto: MqttServer, make: Make, listener: str, qos: str
) -> None:
    tls = {"cert_authority": mosquitto.tls.ca.read_text()} if listener == "wss" else {}
    target = make(mosquitto.settings(broker=mosquitto.url(listener), qos=qos, **tls))
    target.probe()
    assert deliver(mosquitto, target, 1000) == expected_paths(1000)


@pytest.mark.parametrize("length", [10, 125, 126, 65_535, 65_536, 900_000])
def test_websockets_carry_any_length(mosquitto: MqttServer, make: Make, length: int) -> None:
    photo = event("photo", principal="p" * length)
    assert make(broker=mosquitto.url("ws")).send([photo]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.body == minio.log(photo)


def test_slow_broker_receives_every_event_once_by_websocket(
    mosquitto: MqttServer, make: Make
) -> None:
    """Partial writes to the socket must neither lose nor repeat data."""
    target = make(broker=mosquitto.url("ws"), qos="0")
    assert target.send([]) == {}
    batch = [event(f"{at:04}", at + 1, principal="p" * 20_000) for at in range(1000)]
    mosquitto.pause()
    threading.Timer(0.5, mosquitto.resume).start()
    assert bounded(lambda: target.send(batch)) == {}
    arrived = [path_of(arrival) for arrival in mosquitto.received()]
    assert arrived == [minio.path(put) for put in batch]


@pytest.mark.parametrize(
    ("status", "outcome"), [("404 Not Found", NotConnected), ("401 Unauthorized", NotAuthorized)]
)
def test_websocket_uses_the_path_and_reports_a_refusal(
    make: Make, status: str, outcome: type[NotConnected]
) -> None:
    answer = f"HTTP/1.1 {status}\r\n\r\n".encode()
    with endpoint(answer) as (address, received), pytest.raises(NotConnected) as refused:
        make(broker=f"ws://{address}/a/b?token=hidden").probe()
    assert received[0].startswith(b"GET /a/b?token=hidden HTTP/1.1\r\n")
    assert f"Host: {address}\r\n".encode() in received[0]
    assert type(refused.value) is outcome
    assert status in str(refused.value)
    assert "path of broker" in str(refused.value)
    assert "hidden" not in str(refused.value)


# Login and session


def test_login_may_be_in_the_url(mosquitto: MqttServer, make: Make) -> None:
    encoded = PASSWORD.replace("-", "%2D")
    texts = mosquitto.settings(broker=f"tcp://{USER}:{encoded}@{mosquitto.address}")
    target = make({**texts, "username": "", "password": ""})
    assert deliver(mosquitto, target) == expected_paths()
    assert PASSWORD not in f"{target.where} {target.settings!r}"
    assert encoded not in f"{target.where} {target.settings!r}"


@pytest.mark.parametrize(
    ("version", "number"), [("auto", "5"), ("5", "5"), ("3.1.1", "2"), ("3.1", "1")]
)
def test_version_is_the_configured_one(
    mosquitto: MqttServer, make: Make, version: str, number: str
) -> None:
    assert make(version=version).send(events(1)) == {}
    assert logins(mosquitto)[-1][1] == number  # Mosquitto's 1 is 3.1, its 2 is 3.1.1


def test_a_login_that_breaks_off_changes_no_version(mosquitto: MqttServer, make: Make) -> None:
    with closing(Links()) as links:
        relay = links.open(mosquitto.process.folder, mosquitto.port)
        target = make(broker=f"tcp://{relay.host}:{relay.port}")
        relay.cut_answers(1)
        with pytest.raises(NotConnected):
            bounded(lambda: target.send(events(1)))
        relay.restore()
        assert deliver(mosquitto, target) == expected_paths()
    assert logins(mosquitto)[-1][1] == "5"


@pytest.mark.parametrize(
    ("interval", "seconds"), [("0s", "10"), ("7s", "7"), ("1m30s", "90"), ("500ms", "1")]
)
def test_keep_alive_interval_is_sent(
    mosquitto: MqttServer, make: Make, interval: str, seconds: str
) -> None:
    assert make(keep_alive_interval=interval).send(events(1)) == {}
    assert logins(mosquitto)[-1][3] == seconds


def test_session_is_clean_and_each_target_has_its_own_id(mosquitto: MqttServer, make: Make) -> None:
    targets = [make(client_id="audit-"), make(client_id="audit-"), make()]
    for target in (*targets, *targets):
        assert target.send(events(1)) == {}
    first, second, third = logins(mosquitto)[-3:]
    assert {clean_session for _, _, clean_session, _ in (first, second, third)} == {"1"}
    assert re.fullmatch(r"audit-[0-9a-f]{12}", first[0])
    assert re.fullmatch(r"audit-[0-9a-f]{12}", second[0])
    assert first[0] != second[0]
    assert re.fullmatch(r"[0-9a-z]{22}", third[0]), "brokers need not accept more than 23"


def test_connection_is_kept_and_reopened_with_its_client_id(
    mosquitto: MqttServer, make: Make
) -> None:
    target = make()
    before = len(logins(mosquitto))
    for _ in range(3):
        assert target.send(events(1)) == {}
        target.probe()
    assert len(logins(mosquitto)) == before + 1
    target.close()
    assert target.send(events(1)) == {}
    assert logins(mosquitto)[-1] == logins(mosquitto)[-2]


@pytest.mark.parametrize(
    ("qos", "replies"), [("0", []), ("1", ["PUBACK"]), ("2", ["PUBREC", "PUBCOMP"])]
)
def test_messages_that_nobody_asked_for_are_acknowledged_and_ignored(
    limited: Callable[[str], MqttServer], make: Make, qos: str, replies: list[str]
) -> None:
    """A broker may subscribe its clients by itself; this one does so when it is asked to."""
    server = limited("log_type all")
    reader = {"username": OBSERVER, "password": OBSERVER_PASSWORD, "client_id": "reader-"}
    target = make(server.settings(qos=qos, **reader))
    target.login()
    session, soon = cast("Any", target)._open, time.monotonic() + WAIT
    session.write(b"\x82\x0e\0\1\0\0\x08bucket/#" + bytes([int(qos)]), soon)
    assert session._socket.receive(soon)[:1] == SUBSCRIBED
    assert deliver(server, target, 100) == expected_paths(100)
    log = server.log()
    assert "Sending PUBLISH to reader-" in log
    assert all(f"Received {reply} from reader-" in log for reply in replies)


@pytest.mark.parametrize("qos", ["0", "2"])
def test_events_fail_if_the_broker_does_not_read_them(
    mosquitto: MqttServer, make: Make, qos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make(qos=qos)
    target.send([])
    with monkeypatch.context() as patched:
        patched.setattr(Target, "timeout", 2.0)
        mosquitto.pause()
        failures = bounded(lambda: target.send(events(3)))
    mosquitto.resume()
    assert kinds_of(failures) == dict.fromkeys(range(3), TimedOut)
    assert target.send(events(3)) == {}


# Refusals


# This Mosquitto closes the connection after each refusal, hence one event per batch.


@pytest.mark.parametrize("qos", ["1", "2"])
def test_mqtt_5_reports_missing_rights(make: Make, qos: str) -> None:
    target = make(topic="forbidden", qos=qos)
    for put in events(20):
        ((index, error),) = target.send([put]).items()
        assert (index, type(error)) == (0, NotAuthorized)
        assert "let the user publish to the topic" in str(error)


@pytest.mark.parametrize("qos", ["1", "2"])
def test_event_that_the_broker_refuses_waits_with_the_reason(
    limited: Callable[[str], MqttServer], make: Make, qos: str
) -> None:
    server = limited("message_size_limit 20000")
    large = event("large", principal="p" * 30_000)
    ((index, error),) = make(server.settings(qos=qos)).send([large]).items()
    assert (index, type(error)) == (0, TooLargeError)
    assert "(0x" in str(error)
    assert deliver(server, make(server.settings())) == expected_paths()


def test_event_larger_than_the_limit_waits_alone(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    server = limited("max_packet_size 20000")
    batch = [event("a", 1), event("b", 2, principal="p" * 30_000), event("c", 3)]
    for qos in ("0", "1"):
        (index, error), *others = make(server.settings(qos=qos)).send(batch).items()
        assert (index, type(error), others) == (1, TooLargeError, [])
        assert "the broker takes 20000: raise its largest packet" in str(error)
    arrived = [path_of(arrival) for arrival in server.received()]
    assert arrived == 2 * ["uploads/a", "uploads/c"]


def test_in_flight_messages_respect_the_brokers_limit(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    """Mosquitto closes the connection if they exceed it."""
    server = limited("max_inflight_messages 1")
    target = make(server.settings(qos="2"))
    assert deliver(server, target, 200) == expected_paths(200)


def test_unsupported_quality_of_service_is_reported(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    server = limited("max_qos 1")
    with pytest.raises(NotConnected, match="no qos above 1; set qos to it"):
        make(server.settings(qos="2")).send(events(1))
    assert deliver(server, make(server.settings(qos="1"))) == expected_paths()


# Brokers of older versions, and servers that are no broker

NEWEST = b"\x00\x04MQTT\x05"


@pytest.mark.parametrize(
    ("answer", "reason", "tried"),
    [
        (b"", "know this version .see version", [NEWEST]),
        (
            b"\x20\x02\x00\x01",
            "unsupported protocol version .* set version to one",
            [NEWEST, b"\x00\x04MQTT\x04", b"\x00\x06MQIsdp\x03"],
        ),
    ],
    ids=["disconnects", "says so"],
)
def test_older_versions_are_tried_each_time_if_the_broker_says_so(
    make: Make, answer: bytes, reason: str, tried: list[bytes]
) -> None:
    with endpoint(answer) as (address, received):
        both = make(broker=f"tcp://{address}")
        newest = [
            make(broker=f"tcp://{address}", version="5"),
            make(broker=f"tcp://{address}", shape="cloudevents-binary"),
        ]
        for target in (both, both, *newest):
            with pytest.raises(NotConnected, match=reason):
                target.probe()
    names = [*tried, *tried, NEWEST, NEWEST]
    # After the packet's type and length.
    starts = [connect[2 : 2 + len(name)] for connect, name in zip(received, names, strict=True)]
    assert starts == names


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail\r\n", b"\x20\xff\xff\xff\xff\x01"]
)
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_server_that_is_no_broker_is_reported(make: Make, scheme: str, answer: bytes) -> None:
    with endpoint(answer) as (address, _), pytest.raises(NotConnected) as refused:
        make(broker=f"{scheme}://{address}").send(events(1))
    assert re.search("speak MQTT|websocket|suit its port", str(refused.value))


@pytest.mark.parametrize(
    ("scheme", "listener"), [("tls", "tcp"), ("tcp", "tls"), ("ws", "tcp"), ("wss", "ws")]
)
def test_scheme_that_does_not_suit_the_port_is_reported(
    mosquitto: MqttServer, make: Make, scheme: str, listener: str
) -> None:
    with pytest.raises(NotConnected, match="broker"):
        make(broker=f"{scheme}://127.0.0.1:{mosquitto.ports[listener]}").send(events(1))


# Checks and notes of settings
