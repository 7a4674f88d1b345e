"""MQTT's packets and frames, byte for byte, and a scripted broker for answers no real one gives.

The expected bytes are those of the OASIS standards and of RFC 6455.
"""

import time
from collections.abc import Iterable, Iterator

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection

from bucketcast.errors import DeliveryError, NotAuthorized, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.settings.types import Secret
from bucketcast.shapes import minio
from bucketcast.targets.base.sockets import DeadlineSocket
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.address import parse
from bucketcast.targets.mqtt.batch import Batch
from bucketcast.targets.mqtt.client import Client, Limits, Refused
from bucketcast.targets.mqtt.errors import delivery_error, refusal
from bucketcast.targets.mqtt.protocol import Answer, Login, Malformed
from bucketcast.targets.mqtt.websocket import WebSocket, upgrade
from tests.unit.made import event

SOON = 5.0
PUBACK, PUBREC, PUBCOMP = b"\x40\x02", b"\x50\x02", b"\x70\x02"


def id_of(one: Event) -> dict[str, str]:
    return {"id": one.id}


def soon() -> float:
    return time.monotonic() + SOON


class Scripted(DeadlineSocket):
    """A line whose other end says these pieces, one a time that it is asked."""

    def __init__(self, *answers: bytes) -> None:
        self.heard = b""
        self._answers = list(answers)

    @property
    def has_input(self) -> bool:
        return False

    def send(self, data: bytes, deadline: float) -> None:
        assert deadline
        self.heard += data

    def receive(self, deadline: float, most: int = 0) -> bytes:  # noqa: ARG002
        assert deadline
        if not self._answers:
            raise ConnectionError("the broker hung up")
        if not (sent_back := self._answers.pop(0)):
            raise TimeoutError
        return sent_back

    def close(self) -> None:
        self._answers = []


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
def test_lengths_are_written_in_seven_bits_a_byte(size: int, length: bytes) -> None:
    packet = protocol.publisher(4, "t", 1, "", id_of)
    body = b"x" * (size - 5)
    assert packet(258, event(), body) == b"\x32" + length + b"\x00\x01t\x01\x02" + body


@pytest.mark.parametrize("url", ["wss://h/a b", "ws://h/\x7f", "tcp://h h", "wss://ü/mqtt"])
def test_what_a_request_cannot_say_is_no_broker(url: str) -> None:
    with pytest.raises(ValueError, match="a URL in ASCII, without spaces"):
        parse(url)


def test_the_host_of_a_request_leaves_the_schemes_own_port_out() -> None:
    names = {
        "wss://h/mqtt": "h",
        "wss://h:8443": "h:8443",
        "ws://[::1]/": "[::1]",
        "wss://h:80": "h:80",
    }
    assert {url: parse(url).host_header for url in names} == names


def test_no_secret_is_in_a_repr() -> None:
    found = parse("wss://u:hunter2@h/mqtt?token=hunter2")
    assert repr(found) == "Broker(wss://h:443/mqtt)"
    assert "hunter2" not in repr(Login(protocol.MQTT_5, "id", "u", found.password, 10))


def test_a_text_too_long_for_mqtt_is_an_error() -> None:
    packet = protocol.publisher(5, "t", 0, "", lambda _: {"subject": "s" * 65_536})
    with pytest.raises(ValueError, match="65536 bytes; MQTT takes 65535"):
        packet(1, event(), b"")


def test_packets_are_found_wherever_they_are_cut() -> None:
    long = protocol.DISCONNECT.to_bytes() + b"\x80\x01" + b"d" * 128
    stream = PUBACK + b"\x00\x01" + long + b"\xd0\x00"
    for cut in range(len(stream) + 1):
        received = bytearray(stream[:cut])
        found = protocol.split(received)
        received += stream[cut:]
        found += protocol.split(received)
        assert found == [(0x40, b"\x00\x01"), (0xE0, b"d" * 128), (0xD0, b"")]
        assert not received


@pytest.mark.parametrize(
    "stream", [b"HTTP/1.1", b"\x42\x02", b"\x40\xff\xff\xff\xff\x01", b"\x40\xff\xff\xff\x7f"]
)
def test_what_is_no_packet_is_malformed(stream: bytes) -> None:
    with pytest.raises(Malformed):
        protocol.split(bytearray(stream))


def test_properties_of_every_kind_are_read() -> None:
    body = bytearray()
    body += b"\x13\x00\x05" + b"\x21\x00\x14" + b"\x24\x01" + b"\x27\x00\x01\x00\x00"
    body += b"\x26\x00\x01k\x00\x01v" + b"\x16\x00\x02\xff\x00" + b"\x1f\x00\x02no"
    found = protocol.connack(b"\x00\x87" + bytes([len(body)]) + body)
    assert found.code == 0x87
    assert found.number(protocol.KEEP_ALIVE, 0) == 5
    assert found.number(protocol.RECEIVE_MAXIMUM, 0) == 20
    assert found.number(protocol.MAXIMUM_QOS, 2) == 1
    assert found.number(protocol.MAXIMUM_PACKET, 0) == 65_536
    assert found.properties[protocol.REASON] == "no"
    for end in range(1, len(body)):
        with pytest.raises(Malformed):
            protocol.connack(b"\x00\x00" + bytes([len(body)]) + body[:end])


@pytest.mark.parametrize(
    ("code", "in_5"), [(0, 0), (1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87)]
)
def test_codes_of_3_are_read_as_those_of_5(code: int, in_5: int) -> None:
    assert protocol.connack(bytes([0, code])).code == in_5


def batch_of(count: int) -> Batch:
    return Batch(
        [event(key=str(at)) for at in range(count)],
        minio.log,
        protocol.publisher(5, "t", 1, "", id_of),
        lambda error: refusal(error, "there"),
    )


def connection(*answers: bytes, in_flight: int = 20, packet: int = protocol.LARGEST) -> Client:
    made = Client(Scripted(*answers), 10)
    made.limits = Limits(in_flight, packet, 2)
    return made


def outcomes(failures: dict[int, DeliveryError]) -> dict[int, type[DeliveryError]]:
    return {index: type(error) for index, error in failures.items()}


def test_neighbours_of_a_refused_event_go_on() -> None:
    batch = batch_of(4)
    sent_back = (
        PUBACK + b"\x00\x01",
        b"\x40\x03\x00\x02\x97",
        PUBACK + b"\x00\x03",
        PUBACK + b"\x00\x04",
    )
    batch.confirmed(connection(*sent_back, in_flight=1), soon())
    assert batch.unconfirmed == set()
    assert outcomes(batch.failures) == {1: Retryable}
    assert "quota exceeded (0x97)" in str(batch.failures[1])


def test_the_second_quality_is_confirmed_by_the_last_step_only() -> None:
    batch = batch_of(3)
    line = Scripted(PUBREC + b"\x00\x01" + b"\x50\x03\x00\x02\x87", PUBREC + b"\x00\x03")
    with pytest.raises(ConnectionError):
        batch.confirmed(Client(line, 10), soon())
    assert batch.unconfirmed == {0, 2}
    assert outcomes(batch.failures) == {1: NotAuthorized}
    assert line.heard.endswith(b"\x62\x02\x00\x01\x62\x02\x00\x03")
    batch = batch_of(2)
    sent_back = PUBREC + b"\x00\x01" + PUBCOMP + b"\x00\x01" + b"\x70\x03\x00\x02\x92"
    batch.confirmed(connection(sent_back), soon())
    assert batch.unconfirmed == set()
    assert outcomes(batch.failures) == {1: Retryable}, "an id that the broker does not know"


def test_what_a_packet_cannot_hold_fails_without_being_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = batch_of(2)
    batch.confirmed(connection(packet=100), soon())
    assert outcomes(batch.failures) == {0: Retryable, 1: Retryable}
    monkeypatch.setattr(protocol, "LARGEST", 100)
    batch = batch_of(2)
    batch.confirmed(connection(packet=100), soon())
    assert outcomes(batch.failures) == {0: Rejected, 1: Rejected}


def test_a_broker_that_is_slow_to_confirm_gets_heartbeats() -> None:
    line = Scripted(b"", b"\xd0\x00", PUBACK + b"\x00\x01")
    batch = batch_of(1)
    batch.confirmed(Client(line, keep_alive=0), soon())
    assert batch.unconfirmed == set()
    assert line.heard.endswith(protocol.PINGREQ)


@pytest.mark.parametrize(
    ("sent_back", "seconds"),
    [
        (b"\x20\x03\x00\x00\x00", 100),
        (b"\x20\x06\x00\x00\x03\x13\x00\x05", 5),
        (b"\x20\x06\x00\x00\x03\x13\x00\x00", 10**9),
    ],
    ids=["ours", "the broker's", "for ever"],
)
def test_a_connection_is_fit_for_the_keep_alive_time(
    monkeypatch: pytest.MonkeyPatch, sent_back: bytes, seconds: float
) -> None:
    made = Client(Scripted(sent_back), 100)
    made.log_in(Login(protocol.MQTT_5, "id", "", Secret(""), 100), soon())
    now = time.monotonic()
    for idle, fit in ((seconds - 1, True), (seconds + 1, seconds == 10**9)):
        monkeypatch.setattr(time, "monotonic", lambda at=now + idle: at)
        assert made.is_fit == fit


def test_a_connection_of_a_frozen_function_ages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its monotonic clock may have stood still."""
    made = connection(b"")
    assert made.is_fit
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert not made.is_fit


def test_a_broker_with_a_receive_maximum_of_zero_gets_one_at_a_time() -> None:
    """MQTT forbids it to say so; to send nothing would be to call all delivered."""
    made = Client(Scripted(b"\x20\x06\x00\x00\x03\x21\x00\x00"), 10)
    made.log_in(Login(protocol.MQTT_5, "id", "", Secret(""), 10), soon())
    batch = batch_of(1)
    with pytest.raises(ConnectionError):
        batch.confirmed(made, soon())
    assert batch.unconfirmed == {0}


def test_a_broker_that_never_confirms_is_abandoned() -> None:
    batch = batch_of(1)
    with pytest.raises(TimeoutError, match="did not answer in time"):
        batch.confirmed(connection(b""), time.monotonic())
    assert batch.unconfirmed == {0}


def test_why_the_broker_hangs_up_is_reported() -> None:
    batch = batch_of(2)
    sent_back = b"\xe0\x0e\x9d\x0c\x1c\x00\x09other:883"
    with pytest.raises(Refused) as refused:
        batch.confirmed(connection(sent_back), soon())
    assert batch.unconfirmed == {0, 1}
    assert str(delivery_error(refused.value, "there")) == (
        "there: server moved (0x9D) other:883; set broker to that server"
    )


@pytest.mark.parametrize("code", [*range(0x80, 0xA3), 0xFF])
def test_every_code_is_retryable(code: int) -> None:
    error = Refused(Answer(code, {}))
    assert not isinstance(delivery_error(error, "there"), Rejected)
    assert not isinstance(refusal(error, "there"), Rejected)
    assert f"0x{code:02X}" in str(delivery_error(error, "there"))


def frames(*parts: tuple[int, bytes]) -> bytes:
    """What a server sends: frames of a first byte and data, not masked."""
    return b"".join(bytes([first, len(data)]) + data for first, data in parts)


class Pipe(DeadlineSocket):
    """A wire whose other end says these bytes one at a time."""

    def __init__(self, answers: Iterable[bytes]) -> None:
        self.heard = b""
        self._answers = iter(answers)

    def send(self, data: bytes, deadline: float) -> None:
        assert deadline
        self.heard += data

    def receive(self, deadline: float, most: int = 0) -> bytes:  # noqa: ARG002
        assert deadline
        return next(self._answers)


def websocket(pipe: Pipe) -> WebSocket:
    """Return a websocket whose server has agreed to it; then the pipe says what it has to say."""
    answers, server = pipe._answers, WSConnection(ConnectionType.SERVER)

    def agreed() -> Iterator[bytes]:
        server.receive_data(pipe.heard)
        pipe.heard = b""
        yield server.send(AcceptConnection(subprotocol="mqtt"))
        yield from answers

    pipe._answers = agreed()
    return upgrade(pipe, "broker.example", "/mqtt", soon())


def test_frames_are_put_together_and_pings_answered() -> None:
    long = b"\x82\x7e\x01\x00" + b"l" * 256
    stream = frames((0x02, b"a"), (0x89, b"are you there"), (0x80, b"b"), (0x82, b"")) + long
    pipe = Pipe(bytes([each]) for each in stream)
    socket = websocket(pipe)
    received = b""
    while len(received) < 258:
        received += socket.receive(soon())
    assert received == b"ab" + b"l" * 256
    assert pipe.heard[:2] == bytes([0x8A, 0x80 | 13])
    mask = pipe.heard[2:6]
    unmasked = bytes(each ^ mask[at % 4] for at, each in enumerate(pipe.heard[6:]))
    assert unmasked == b"are you there"


def test_a_closed_websocket_is_no_connection() -> None:
    socket = websocket(Pipe([frames((0x82, b"ab"), (0x88, b"\x03\xe8"))]))
    assert socket.receive(soon()) == b"ab"
    assert socket.has_input
    with pytest.raises(ConnectionError, match="closed the websocket"):
        socket.receive(soon())
    with pytest.raises(ConnectionError, match="closed the websocket"):
        socket.send(b"c", soon())
