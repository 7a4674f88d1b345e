"""MQTT's URLs, its packets and frames, and a scripted broker for rare answers.

The expected bytes are those of the OASIS standards and of RFC 6455.
"""

import socket
import time
from collections.abc import Iterator

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection

from bucketcast.errors import NotAuthorized, Retryable, Throttled
from bucketcast.event import Event
from bucketcast.settings.types import Secret
from bucketcast.shapes import minio
from bucketcast.targets.base.sockets import DeadlineSocket
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.address import parse
from bucketcast.targets.mqtt.answers import ANSWERS
from bucketcast.targets.mqtt.batch import Batch
from bucketcast.targets.mqtt.client import Client, Limits, Refused
from bucketcast.targets.mqtt.protocol import Login, Malformed
from bucketcast.targets.mqtt.websocket import WebSocket, upgrade
from tests.unit.samples import event, kinds_of

SOON = 60.0
PUBACK, PUBREC, PUBCOMP = b"\x40\x02", b"\x50\x02", b"\x70\x02"


def id_property(event: Event) -> dict[str, str]:
    return {"id": event.id}


def soon() -> float:
    return time.monotonic() + SOON


class ScriptedSocket(DeadlineSocket):
    """A socket from which each `receive` returns the next of these answers."""

    def __init__(self, *answers: bytes) -> None:
        self.sent = b""
        self.answers: Iterator[bytes] = iter(answers)

    @property
    def has_input(self) -> bool:
        return False

    def send(self, data: bytes, deadline: float) -> None:
        assert deadline
        self.sent += data

    def receive(self, deadline: float, limit: int = 0) -> bytes:  # noqa: ARG002
        assert deadline
        answer = next(self.answers, None)
        if answer is None:
            raise ConnectionError("the broker closed the connection")
        if not answer:
            raise TimeoutError
        return answer

    def close(self) -> None:
        self.answers = iter(())


@pytest.mark.parametrize(
    ("size", "length"),
    [
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (16_383, b"\xff\x7f"),
        (16_384, b"\x80\x80\x01"),
        (2_097_151, b"\xff\xff\x7f"),
        (2_097_152, b"\x80\x80\x80\x01"),
    ],
)
def test_length_is_encoded_in_seven_bits_per_byte(size: int, length: bytes) -> None:
    encode = protocol.publish_encoder(4, "t", 1, "", id_property)
    body = b"x" * (size - 5)
    assert encode(258, event(), body) == b"\x32" + length + b"\x00\x01t\x01\x02" + body


def test_host_header_omits_the_default_port() -> None:
    names = {
        "wss://h/mqtt": "h",
        "wss://h:8443": "h:8443",
        "ws://[::1]/": "[::1]",
        "wss://h:80": "h:80",
    }
    assert {url: parse(url).host_header for url in names} == names


def test_repr_contains_no_secret() -> None:
    broker = parse("wss://u:hunter2@h/mqtt?token=hunter2")
    assert repr(broker) == "Broker(wss://h:443/mqtt)"
    assert "hunter2" not in repr(Login(protocol.MQTT_5, "id", "u", broker.password, 10))


def test_text_too_long_for_mqtt_is_an_error() -> None:
    encode = protocol.publish_encoder(5, "t", 0, "", lambda _: {"subject": "s" * 65_536})
    with pytest.raises(ValueError, match="65536 bytes; MQTT takes 65535"):
        encode(1, event(), b"")


def take_all(received: bytearray) -> list[tuple[int, bytes]]:
    return list(iter(lambda: protocol.take_packet(received), None))


def test_packets_are_complete_wherever_the_stream_is_cut() -> None:
    long = protocol.DISCONNECT.to_bytes() + b"\x80\x01" + b"d" * 128
    stream = PUBACK + b"\x00\x01" + long + b"\xd0\x00"
    for cut in range(len(stream) + 1):
        received = bytearray(stream[:cut])
        packets = take_all(received)
        received += stream[cut:]
        packets += take_all(received)
        assert packets == [(0x40, b"\x00\x01"), (0xE0, b"d" * 128), (0xD0, b"")]
        assert not received


def test_properties_of_every_type_are_decoded() -> None:
    body = bytearray()
    body += b"\x13\x00\x05" + b"\x21\x00\x14" + b"\x24\x01" + b"\x27\x00\x01\x00\x00"
    body += b"\x26\x00\x01k\x00\x01v" + b"\x16\x00\x02\xff\x00" + b"\x1f\x00\x02no"
    response = protocol.decode_connack(b"\x00\x87" + bytes([len(body)]) + body)
    assert response.code == 0x87
    assert response.number(protocol.KEEP_ALIVE, 0) == 5
    assert response.number(protocol.RECEIVE_MAXIMUM, 0) == 20
    assert response.number(protocol.MAXIMUM_QOS, 2) == 1
    assert response.number(protocol.MAXIMUM_PACKET, 0) == 65_536
    assert response.properties[protocol.REASON] == "no"
    for end in range(1, len(body)):
        with pytest.raises(Malformed):
            protocol.decode_connack(b"\x00\x00" + bytes([len(body)]) + body[:end])


@pytest.mark.parametrize(
    ("code", "mqtt_5_code"), [(0, 0), (1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87)]
)
def test_codes_of_mqtt_3_become_those_of_mqtt_5(code: int, mqtt_5_code: int) -> None:
    assert protocol.decode_connack(bytes([0, code])).code == mqtt_5_code


def batch_of(count: int) -> Batch:
    return Batch(
        [event(key=str(at)) for at in range(count)],
        minio.log,
        protocol.publish_encoder(5, "t", 1, "", id_property),
        lambda error: ANSWERS.of(error, "there"),
    )


def connection(*answers: bytes, in_flight: int = 20, packet: int = protocol.LARGEST) -> Client:
    client = Client(ScriptedSocket(*answers), 10)
    client.limits = Limits(in_flight, packet, 2)
    return client


def test_qos_2_is_confirmed_by_the_last_step_only() -> None:
    batch = batch_of(3)
    connected = ScriptedSocket(PUBREC + b"\x00\x01" + b"\x50\x03\x00\x02\x87", PUBREC + b"\x00\x03")
    with pytest.raises(ConnectionError):
        batch.send(Client(connected, 10), 1, soon())
    assert batch.unconfirmed == {0, 2}
    assert kinds_of(batch.failures) == {1: NotAuthorized}
    assert connected.sent.endswith(b"\x62\x02\x00\x01\x62\x02\x00\x03")
    batch = batch_of(2)
    answers = PUBREC + b"\x00\x01" + PUBCOMP + b"\x00\x01" + b"\x70\x03\x00\x02\x92"
    batch.send(connection(answers), 1, soon())
    assert batch.unconfirmed == set()
    assert kinds_of(batch.failures) == {1: Retryable}, "an id that the broker does not know"


def test_slow_broker_gets_pings() -> None:
    connected = ScriptedSocket(b"", b"\xd0\x00", PUBACK + b"\x00\x01")
    batch = batch_of(1)
    batch.send(Client(connected, keep_alive=0), 1, soon())
    assert batch.unconfirmed == set()
    assert connected.sent.endswith(protocol.PINGREQ)


@pytest.mark.parametrize(
    ("connack", "seconds"),
    [
        (b"\x20\x03\x00\x00\x00", 100),
        (b"\x20\x06\x00\x00\x03\x13\x00\x05", 5),
        (b"\x20\x06\x00\x00\x03\x13\x00\x00", 10**9),
    ],
    ids=["ours", "the broker's", "unlimited"],
)
def test_connection_is_usable_for_the_keep_alive_interval(
    monkeypatch: pytest.MonkeyPatch, connack: bytes, seconds: float
) -> None:
    client = Client(ScriptedSocket(connack), 100)
    client.log_in(Login(protocol.MQTT_5, "id", "", Secret(""), 100), soon())
    now = time.monotonic()
    for idle, usable in ((seconds - 1, True), (seconds + 1, seconds == 10**9)):
        monkeypatch.setattr(time, "monotonic", lambda at=now + idle: at)
        assert client.is_usable() == usable


def test_connection_of_a_frozen_function_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock may have stopped while the function was frozen."""
    client = connection(b"")
    assert client.is_usable()
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert not client.is_usable()


def test_broker_with_a_receive_maximum_of_zero_gets_one_at_a_time() -> None:
    """MQTT forbids zero; if nothing were sent, all events would count as delivered."""
    client = Client(ScriptedSocket(b"\x20\x06\x00\x00\x03\x21\x00\x00"), 10)
    client.log_in(Login(protocol.MQTT_5, "id", "", Secret(""), 10), soon())
    batch = batch_of(1)
    with pytest.raises(ConnectionError):
        batch.send(client, 1, soon())
    assert batch.unconfirmed == {0}


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b"\xe0\x0e\x9d\x0c\x1c\x00\x09other:883", "server moved (0x9D) other:883; set broker to"),
        (b"HTTP/1.1", "HTTP/1.1"),
        (b"\x42\x02", r"b'B\x02'"),
        (b"\x40\xff\xff\xff\xff\x01", "a length of more than four bytes"),
        (b"\x40\x00", "an acknowledgement without a packet id"),
        (b"\x40\xff\xff\xff\x7f", "a packet that is too long"),
    ],
)
def test_what_arrives_before_the_end_of_a_session_counts(end: bytes, reason: str) -> None:
    batch = batch_of(4)
    answers = b"\x40\x03\x00\x01\x97" + PUBACK + b"\x00\x02" + end
    with pytest.raises((Refused, Malformed)) as raised:
        batch.send(connection(answers, in_flight=3), 1, soon())
    assert kinds_of(batch.failures) == {0: Throttled}
    assert batch.unconfirmed == {2, 3}
    assert reason in str(ANSWERS.of(raised.value, "there"))


@pytest.mark.parametrize(("qos", "confirmed"), [(0, 0), (1, 1)])
def test_what_arrived_before_a_write_fails_counts(qos: int, confirmed: int) -> None:
    ours, brokers = socket.socketpair()
    with ours, brokers:
        brokers.sendall((PUBACK + b"\x00\x01") * confirmed + b"\xe0\x01\x97")
        brokers.close()
        batch = batch_of(40)
        with pytest.raises(Refused, match="quota exceeded"):
            batch.send(Client(DeadlineSocket(ours), 10), qos, soon())
    assert batch.unconfirmed == set(range(confirmed, 40))


def frames(*parts: tuple[int, bytes]) -> bytes:
    """A server's websocket frames, which are not masked, from first bytes and data."""
    return b"".join(bytes([first, len(data)]) + data for first, data in parts)


def websocket(scripted: ScriptedSocket) -> WebSocket:
    """Open a websocket; the server accepts it, and then sends the answers."""
    answers, server = scripted.answers, WSConnection(ConnectionType.SERVER)

    def accept_and_answer() -> Iterator[bytes]:
        server.receive_data(scripted.sent)
        scripted.sent = b""
        yield server.send(AcceptConnection(subprotocol="mqtt"))
        yield from answers

    scripted.answers = accept_and_answer()
    return upgrade(scripted, "broker.example", "/mqtt", soon())


def test_websocket_joins_frames_and_answers_pings() -> None:
    long = b"\x82\x7e\x01\x00" + b"l" * 256
    stream = frames((0x02, b"a"), (0x89, b"are you there"), (0x80, b"b"), (0x82, b"")) + long
    scripted = ScriptedSocket(*(bytes([byte]) for byte in stream))
    socket = websocket(scripted)
    received = b""
    while len(received) < 258:
        received += socket.receive(soon())
    assert received == b"ab" + b"l" * 256
    assert scripted.sent[:2] == bytes([0x8A, 0x80 | 13])
    mask = scripted.sent[2:6]
    unmasked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(scripted.sent[6:]))
    assert unmasked == b"are you there"


def test_closed_websocket_raises_connection_error() -> None:
    socket = websocket(ScriptedSocket(frames((0x82, b"ab"), (0x88, b"\x03\xe8"))))
    assert socket.receive(soon()) == b"ab"
    assert socket.has_input
    with pytest.raises(ConnectionError, match="closed the websocket"):
        socket.receive(soon())
    with pytest.raises(ConnectionError, match="closed the websocket"):
        socket.send(b"c", soon())
