"""What is particular to MQTT: a real Mosquitto, and NATS as a broker of 3.1.1 only."""

import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from bucketcast.errors import ConfigErrors, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.settings.options import read
from bucketcast.shapes import minio
from bucketcast.targets.mqtt import Target
from tests.contract.made_targets import made_targets
from tests.contract.trial import bounded, event, events, path_of
from tests.servers import Server, mqtt
from tests.servers.machine import MissingProgramError, ports
from tests.servers.mqtt import OBSERVER, OBSERVER_PASSWORD, PASSWORD, USER, MqttServer
from tests.servers.process import Process
from tests.servers.tls import Tls

Make = Callable[..., Target]
PEM = "-----BEGIN CERTIFICATE-----"
QOS = pytest.mark.parametrize("qos", ["0", "1", "2"])
_client = re.compile(r"New client connected from \S+ as (\S+) \(p(\d), c(\d), k(\d+), u'alice'\)")


@pytest.fixture
def mosquitto(server: Callable[[str], Server]) -> MqttServer:
    found = server("mqtt")
    assert isinstance(found, MqttServer)
    return found


@pytest.fixture
def make(mosquitto: MqttServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(Target, "timeout", 10.0)
    with made_targets(Target, mosquitto.settings) as make:
        yield make


@pytest.fixture
def limited(servers_folder: Path, tls: Tls) -> Iterator[Callable[[str], MqttServer]]:
    """A Mosquitto with these lines in its configuration."""
    started: list[MqttServer] = []

    def start(lines: str) -> MqttServer:
        started.append(
            mqtt.start(servers_folder / f"mqtt-{lines.split(maxsplit=1)[0]}", tls, more=lines)
        )
        return started[-1]

    yield start
    for each in started:
        each.stop()


def logins(server: MqttServer) -> list[tuple[str, ...]]:
    """Client id, number of the version, clean session and keep-alive of each of alice's logins."""
    return [found.groups() for found in _client.finditer(server.log())]


def sent(server: MqttServer, target: Target, count: int = 3) -> list[str]:
    """What arrives of so many events that were all confirmed."""
    assert bounded(lambda: target.send(events(count))) == {}
    return [path_of(each) for each in server.received()]


def wanted(count: int = 3) -> list[str]:
    return [minio.path(each) for each in events(count)]


@contextmanager
def endpoint(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """`host:port` of what says `answer` to whatever comes and hangs up; and what came."""
    received: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer = listener.accept()[0]
                with peer:
                    received.append(peer.recv(65_536))
                    peer.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", received
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def reader(port: int, user: str, password: str) -> Iterator[Callable[[], paho.MQTTMessage]]:
    """What gives the next message, with its quality of service; of a client of 3.1.1."""
    arrived: queue.Queue[paho.MQTTMessage] = queue.Queue()
    subscribed = threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.username_pw_set(user, password)
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = lambda _client, _data, message: arrived.put(message)
    client.connect("127.0.0.1", port)
    client.subscribe("bucket/#", 2)
    client.loop_start()
    assert subscribed.wait(5)
    yield lambda: arrived.get(timeout=5)
    client.disconnect()
    client.loop_stop()


# What is sent, and where


@QOS
def test_events_are_sent_with_the_quality_of_service(
    mosquitto: MqttServer, make: Make, qos: str
) -> None:
    with reader(mosquitto.ports["tcp"], OBSERVER, OBSERVER_PASSWORD) as read_one:
        assert make(qos=qos).send(events(1)) == {}
        assert read_one().qos == int(qos)


@pytest.mark.parametrize("version", ["5", "3.1.1", "3.1"])
@QOS
def test_a_batch_arrives_in_its_order(
    mosquitto: MqttServer, make: Make, qos: str, version: str
) -> None:
    assert sent(mosquitto, make(qos=qos, version=version), 1000) == wanted(1000)


def test_events_go_to_the_topic(mosquitto: MqttServer, make: Make) -> None:
    assert make(topic="bucket/other/ü x").send(events(2)) == {}
    assert len(mosquitto.received("bucket/other/ü x")) == 2
    assert mosquitto.received() == []


@pytest.mark.parametrize("version", ["5", "auto"])
def test_mqtt_5_says_what_the_body_is_and_which_event(
    mosquitto: MqttServer, make: Make, version: str
) -> None:
    one = event("photo")
    assert make(version=version).send([one]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == {"content-type": "application/json", "event-id": one.id}


@pytest.mark.parametrize("version", ["3.1.1", "3.1"])
def test_mqtt_3_has_nothing_beside_the_body(
    mosquitto: MqttServer, make: Make, version: str
) -> None:
    target = make(version=version)
    assert target.send(events(1)) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == target.headers(event("a")) == {}


def test_messages_are_neither_retained_nor_do_they_expire(
    mosquitto: MqttServer, make: Make
) -> None:
    assert make().send(events(1)) == {}
    (message,) = mosquitto.messages()
    assert not message.retain
    assert not hasattr(message.properties, "MessageExpiryInterval")


def test_no_subscribers_is_no_failure(make: Make) -> None:
    login = {"username": OBSERVER, "password": OBSERVER_PASSWORD}
    for version in ("5", "3.1.1", "3.1"):
        assert make(topic="nobody/listens", version=version, **login).send(events(2)) == {}


def test_a_binary_cloudevent_has_its_attributes_in_user_properties(
    mosquitto: MqttServer, make: Make
) -> None:
    """As the MQTT binding of CloudEvents says: without a prefix, the content type apart."""
    one = event("photo", request_id="R", host_id="H", region="eu-west-1")
    assert make(shape="cloudevents-binary").send([one]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == {
        "content-type": "application/json",
        "event-id": one.id,
        "specversion": "1.0",
        "id": f"R.H.{one.id[:16]}",
        "source": "aws:s3.eu-west-1.uploads",
        "type": "com.amazonaws.s3.ObjectCreated:Put",
        "subject": "photo",
        "time": one.time,
        "sequence": one.sequencer.rjust(32, "0"),
    }


def test_a_structured_cloudevent_has_its_content_type(mosquitto: MqttServer, make: Make) -> None:
    one = event("photo")
    assert make(shape="cloudevents").send([one]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.headers == {"content-type": "application/cloudevents+json", "event-id": one.id}


@pytest.mark.parametrize("scheme", ["tls", "ssl", "tcps"])
def test_each_name_of_tls_is_tls(mosquitto: MqttServer, make: Make, scheme: str) -> None:
    url = mosquitto.url("tls").replace("tls", scheme)
    assert sent(mosquitto, make(mosquitto.tls_settings(broker=url))) == wanted()


@QOS
@pytest.mark.parametrize("listener", ["ws", "wss"])
def test_websockets_carry_it(mosquitto: MqttServer, make: Make, listener: str, qos: str) -> None:
    tls = {"cert_authority": mosquitto.tls.ca.read_text()} if listener == "wss" else {}
    target = make(mosquitto.settings(broker=mosquitto.url(listener), qos=qos, **tls))
    target.probe()
    assert sent(mosquitto, target, 1000) == wanted(1000)


@pytest.mark.parametrize("length", [10, 125, 126, 65_535, 65_536, 900_000])
def test_websockets_carry_any_length(mosquitto: MqttServer, make: Make, length: int) -> None:
    one = event("photo", principal="p" * length)
    assert make(broker=mosquitto.url("ws")).send([one]) == {}
    (arrival,) = mosquitto.received()
    assert arrival.body == minio.log(one)


def test_a_broker_that_reads_slowly_gets_all_by_websocket(
    mosquitto: MqttServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system does not take at once must neither be left out nor come twice."""
    monkeypatch.setattr(Target, "timeout", 30.0)
    target = make(broker=mosquitto.url("ws"), qos="0")
    assert target.send([]) == {}
    batch = [event(f"{at:04}", at + 1, principal="p" * 20_000) for at in range(1000)]
    mosquitto.pause()
    threading.Timer(0.5, mosquitto.resume).start()
    assert bounded(lambda: target.send(batch)) == {}
    assert [path_of(each) for each in mosquitto.received()] == [minio.path(e) for e in batch]


@pytest.mark.parametrize(
    ("status", "outcome"), [("404 Not Found", NotConnected), ("401 Unauthorized", NotAuthorized)]
)
def test_the_path_of_a_websocket_is_used_and_its_refusal_reported(
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


# The login, and what the broker is told of the connection


def test_a_login_in_the_url_counts(mosquitto: MqttServer, make: Make) -> None:
    encoded = PASSWORD.replace("-", "%2D")
    texts = mosquitto.settings(broker=f"tcp://{USER}:{encoded}@{mosquitto.address}")
    target = make({**texts, "username": "", "password": ""})
    assert sent(mosquitto, target) == wanted()
    assert PASSWORD not in f"{target.where} {target.settings!r}"
    assert encoded not in f"{target.where} {target.settings!r}"


@pytest.mark.parametrize(
    ("version", "number"), [("auto", "5"), ("5", "5"), ("3.1.1", "2"), ("3.1", "1")]
)
def test_the_version_is_the_configured_one(
    mosquitto: MqttServer, make: Make, version: str, number: str
) -> None:
    assert make(version=version).send(events(1)) == {}
    assert logins(mosquitto)[-1][1] == number  # Mosquitto's 1 is 3.1, its 2 is 3.1.1


@pytest.mark.parametrize("listener", ["ws", "tls"])
def test_mqtt_3_1_works_over_websockets_and_tls_too(
    mosquitto: MqttServer, make: Make, listener: str
) -> None:
    texts = mosquitto.tls_settings(broker=mosquitto.url(listener), version="3.1")
    if listener == "ws":
        texts["cert_authority"] = ""
    assert sent(mosquitto, make(texts)) == wanted()
    assert logins(mosquitto)[-1][1] == "1"


@pytest.mark.parametrize(
    ("interval", "seconds"), [("0s", "10"), ("7s", "7"), ("1m30s", "90"), ("500ms", "1")]
)
def test_the_keep_alive_interval_is_sent(
    mosquitto: MqttServer, make: Make, interval: str, seconds: str
) -> None:
    assert make(keep_alive_interval=interval).send(events(1)) == {}
    assert logins(mosquitto)[-1][3] == seconds


def test_the_session_is_clean_and_each_target_has_an_id_of_its_own(
    mosquitto: MqttServer, make: Make
) -> None:
    targets = [make(client_id="audit-"), make(client_id="audit-"), make()]
    for target in (*targets, *targets):
        assert target.send(events(1)) == {}
    first, second, third = logins(mosquitto)[-3:]
    assert {each[2] for each in (first, second, third)} == {"1"}
    assert re.fullmatch(r"audit-[0-9a-f]{12}", first[0])
    assert re.fullmatch(r"audit-[0-9a-f]{12}", second[0])
    assert first[0] != second[0]
    assert re.fullmatch(r"[0-9a-z]{22}", third[0]), "brokers need not take more than 23"


def test_a_connection_is_kept_and_reopened_with_its_client_id(
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


def test_a_connection_that_the_broker_gave_up_is_replaced_without_a_failure(
    mosquitto: MqttServer, make: Make
) -> None:
    target = make(keep_alive_interval="1s")
    assert target.send(events(1)) == {}
    client_id = logins(mosquitto)[-1][0]
    until = time.monotonic() + 20
    while f"Client {client_id} has exceeded timeout" not in mosquitto.log():
        assert time.monotonic() < until
        time.sleep(0.1)
    assert sent(mosquitto, target)[1:] == wanted()


def test_a_client_of_the_same_id_costs_no_event(mosquitto: MqttServer, make: Make) -> None:
    target = make()
    assert target.send(events(1)) == {}
    thief = mqtt.client(OBSERVER, OBSERVER_PASSWORD, logins(mosquitto)[-1][0])
    thief.connect("127.0.0.1", mosquitto.ports["tcp"])
    while not thief.is_connected():
        thief.loop(0.1)
    assert sent(mosquitto, target)[1:] == wanted()
    thief.disconnect()


@QOS
def test_events_that_a_silent_broker_has_not_read_are_not_called_delivered(
    mosquitto: MqttServer, make: Make, qos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make(qos=qos)
    target.send([])
    monkeypatch.setattr(Target, "timeout", 2.0)
    mosquitto.pause()
    failures = bounded(lambda: target.send(events(3)))
    mosquitto.resume()
    assert {index: type(error) for index, error in failures.items()} == dict.fromkeys(
        range(3), TimedOut
    )
    monkeypatch.setattr(Target, "timeout", 10.0)
    assert target.send(events(3)) == {}


# What the broker refuses


# This Mosquitto hangs up after each refusal, hence one event at a time.


@pytest.mark.parametrize("qos", ["1", "2"])
def test_mqtt_5_reports_what_the_user_may_not_publish(make: Make, qos: str) -> None:
    target = make(topic="forbidden", qos=qos)
    for one in events(20):
        ((index, error),) = target.send([one]).items()
        assert (index, type(error)) == (0, NotAuthorized)
        assert "let the user publish to the topic" in str(error)


@pytest.mark.parametrize("qos", ["1", "2"])
def test_what_the_broker_refuses_waits_with_the_reason(
    limited: Callable[[str], MqttServer], make: Make, qos: str
) -> None:
    server = limited("message_size_limit 20000")
    large = event("large", principal="p" * 30_000)
    ((index, error),) = make(server.settings(qos=qos)).send([large]).items()
    assert (index, type(error)) == (0, Retryable)
    assert "(0x" in str(error)
    assert sent(server, make(server.settings())) == wanted()


def test_an_event_larger_than_the_brokers_limit_waits_alone(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    server = limited("max_packet_size 20000")
    batch = [event("a", 1), event("b", 2, principal="p" * 30_000), event("c", 3)]
    for qos in ("0", "1"):
        (index, error), *others = make(server.settings(qos=qos)).send(batch).items()
        assert (index, type(error), others) == (1, Retryable, [])
        assert "the broker takes 20000: raise its largest packet" in str(error)
    assert [path_of(each) for each in server.received()] == 2 * ["uploads/a", "uploads/c"]


def test_no_more_messages_are_in_flight_than_the_broker_allows(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    """Mosquitto hangs up where it is more."""
    server = limited("max_inflight_messages 1")
    target = make(server.settings(qos="2"))
    assert sent(server, target, 200) == wanted(200)


def test_a_quality_of_service_that_the_broker_does_not_know_is_reported(
    limited: Callable[[str], MqttServer], make: Make
) -> None:
    server = limited("max_qos 1")
    with pytest.raises(NotConnected, match="no qos above 1; set qos to it"):
        make(server.settings(qos="2")).send(events(1))
    assert sent(server, make(server.settings(qos="1"))) == wanted()


# Brokers of 3.1.1, and what is none


@pytest.fixture
def nats(servers_folder: Path) -> Iterator[str]:
    """The URL of a NATS server that speaks MQTT 3.1.1, and that alone."""
    folder = servers_folder / "mqtt-nats"
    chosen = ports(folder, "nats", "mqtt")
    program = Path(__file__).parents[2] / ".local/servers/nats-server/nats-server"
    if not program.exists():
        raise MissingProgramError(program.name)
    (folder / "conf").write_text(
        f"server_name: one\nlisten: 127.0.0.1:{chosen['nats']}\n"
        f'jetstream {{ store_dir: "{folder}/store" }}\n'
        f"mqtt {{ listen: 127.0.0.1:{chosen['mqtt']} }}\n"
        f'authorization {{ user: {USER}, password: "{PASSWORD}" }}\n'
    )
    address = ("127.0.0.1", chosen["mqtt"])
    process = Process(
        [str(program), "-c", "conf"],
        folder,
        ready=lambda: socket.create_connection(address).close(),
        not_ready_yet=(OSError,),
    )
    process.start()
    yield f"tcp://127.0.0.1:{chosen['mqtt']}"
    process.stop()


def test_a_broker_of_version_3_gets_version_3(nats: str, make: Make) -> None:
    make(broker=nats).probe()
    with reader(int(nats.rpartition(":")[2]), USER, PASSWORD) as read_one:
        for qos in ("0", "1", "2"):
            target = make(broker=nats, qos=qos)
            for one in (event("a"), event("b")):
                assert target.send([one]) == {}
                assert read_one().payload == minio.log(one)
        assert target.send(events(100)) == {}
    with pytest.raises(NotConnected, match=r"unsupported protocol version .* set version to one"):
        make(broker=nats, version="5").send(events(1))
    with pytest.raises(NotConnected, match="unsupported protocol version"):
        make(broker=nats, shape="cloudevents-binary").send(events(1))


def test_a_broker_that_hangs_up_at_5_is_tried_with_3(make: Make) -> None:
    with endpoint(b"") as (address, received):
        with pytest.raises(NotConnected, match="does it want a client certificate"):
            make(broker=f"tcp://{address}").probe()
        with pytest.raises(NotConnected):
            make(broker=f"tcp://{address}", version="5").probe()
    # Behind the packet's type and length.
    names = [b"\x00\x04MQTT\x05", b"\x00\x04MQTT\x04", b"\x00\x06MQIsdp\x03", b"\x00\x04MQTT\x05"]
    assert [each[2 : 2 + len(name)] for each, name in zip(received, names, strict=True)] == names


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail\r\n", b"\x20\xff\xff\xff\xff\x01"]
)
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_what_is_no_broker_is_no_connection(make: Make, scheme: str, answer: bytes) -> None:
    with endpoint(answer) as (address, _), pytest.raises(NotConnected) as refused:
        make(broker=f"{scheme}://{address}").send(events(1))
    assert re.search("speak MQTT|no websocket|suit its port", str(refused.value))


@pytest.mark.parametrize(
    ("scheme", "listener"), [("tls", "tcp"), ("tcp", "tls"), ("ws", "tcp"), ("wss", "ws")]
)
def test_a_scheme_that_does_not_suit_the_port_is_reported(
    mosquitto: MqttServer, make: Make, scheme: str, listener: str
) -> None:
    with pytest.raises(NotConnected, match="broker"):
        make(broker=f"{scheme}://127.0.0.1:{mosquitto.ports[listener]}").send(events(1))


def test_a_host_without_an_address(make: Make) -> None:
    for host in ("nowhere.invalid", "a..b"):
        with pytest.raises(NotConnected):
            make(broker=f"tcp://{host}:1883").send(events(1))


def test_any_certificate_is_accepted_if_so_configured(mosquitto: MqttServer, make: Make) -> None:
    texts = mosquitto.tls_settings(cert_authority="", tls_skip_verify="on")
    assert sent(mosquitto, make(texts)) == wanted()


# What is said of settings


@pytest.mark.parametrize(
    ("texts", "names"),
    [
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
        ({"keep_alive_interval": "18h12m16s"}, ["keep_alive_interval"]),
        ({"cert_authority": PEM}, ["cert_authority"]),
        ({"tls_skip_verify": "on", "broker": "ws://h"}, ["tls_skip_verify"]),
        ({"cert_authority": PEM, "tls_skip_verify": "on", "broker": "wss://h"}, []),
        ({"client_cert": PEM, "broker": "tls://h"}, ["client_key"]),
        ({"topic": "secret:topic", "keep_alive_interval": "secret:it", "username": "u"}, []),
    ],
)
def test_what_cannot_be_is_refused(texts: dict[str, str], names: list[str]) -> None:
    settings = read(Target.Settings, {"broker": "tcp://h", "topic": "t", **texts})
    assert [key for key, *_ in Target.check(settings)] == names


@pytest.mark.parametrize("qos", ["3", "-1", "exactly once"])
def test_another_quality_of_service_is_refused_with_those_there_are(qos: str) -> None:
    with pytest.raises(ConfigErrors, match=r"qos: found .* one of 0, 1, 2"):
        read(Target.Settings, {"broker": "tcp://h", "topic": "t", "qos": qos})


def test_a_refused_broker_shows_no_secret() -> None:
    for url in ("http://u:hidden@h", "tcp://h/x?hidden"):
        ((key, found, allowed),) = Target.check(
            read(Target.Settings, {"broker": url, "topic": "t"})
        )
        assert key == "broker"
        assert "hidden" not in found
        assert "://" in allowed


def test_a_broker_that_no_check_saw_is_refused_when_it_is_used() -> None:
    """As a secret may hold one."""
    target = Target(read(Target.Settings, {"broker": "http://u:hidden@h", "topic": "t"}))
    with pytest.raises(NotAuthorized, match=r"broker: allowed is .*tcp://") as refused:
        target.send(events(1))
    assert "broker: allowed is" in target.where
    assert "hidden" not in f"{refused.value} {target.where}"


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("tcp://h", "tcp://h:1883, topic t"),
        ("tls://u:p@h", "tls://h:8883, topic t"),
        ("ssl://h:1", "ssl://h:1, topic t"),
        ("ws://h/mqtt?token", "ws://h:80/mqtt, topic t"),
        ("wss://h", "wss://h:443/, topic t"),
        ("tcp://[::1]:7", "tcp://[::1]:7, topic t"),
    ],
)
def test_ports_and_paths_where_none_are_given(url: str, where: str) -> None:
    assert Target(read(Target.Settings, {"broker": url, "topic": "t"})).where == where


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, "qos = 0: the broker confirms no event"),
        ({"qos": "1", "version": "3.1.1"}, "may confirm also what the user may not publish"),
        ({"qos": "1", "version": "3.1"}, "version = 3.1: a broker may confirm also what the user"),
        ({"qos": "1", "reconnect_interval": "10s"}, "reconnect_interval does nothing here"),
        ({"qos": "1", "queue_dir": "/home/events"}, "the target's SQS queue stores waiting events"),
    ],
)
def test_notes_say_what_a_setting_means_here(texts: dict[str, str], expected: str) -> None:
    settings = read(Target.Settings, {"broker": "tcp://h", "topic": "t", **texts})
    (note,) = Target.notes(settings)
    assert expected in note
    assert (
        Target.notes(read(Target.Settings, {"broker": "tcp://h", "topic": "t", "qos": "1"})) == []
    )
