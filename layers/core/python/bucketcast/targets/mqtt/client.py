"""A session with a broker, without an MQTT library: see docs/adr/0013."""

import contextlib
import ssl
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bucketcast.targets.base import sockets, tls
from bucketcast.targets.base.answers import Refusal
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.address import Broker
from bucketcast.targets.mqtt.protocol import Login, Malformed, Response
from bucketcast.targets.mqtt.settings import MqttSettings

if TYPE_CHECKING:
    from bucketcast.targets.mqtt.websocket import WebSocket

IN_FLIGHT = 20
"""Unconfirmed events with MQTT 3, whose brokers cannot announce a limit."""
MAX_IN_FLIGHT = 1000
MAX_QOS = 2
REFUSED = 0x80
"""Reason codes from here on are refusals."""
UNSUPPORTED_VERSION = "0x84"
"""The broker may support another version."""
_MEANINGS = (
    "unspecified error, malformed packet, protocol error, implementation specific error, "
    "unsupported protocol version, client id not valid, bad user name or password, not "
    "authorised, server unavailable, server busy, banned, server shutting down, bad "
    "authentication method, keep-alive timeout, session taken over by another client, topic "
    "filter not valid, topic name not valid, packet id in use, packet id not found, receive "
    "maximum exceeded, topic alias not valid, packet too large, message rate too high, quota "
    "exceeded, administrative action, payload format not valid, retain not supported, quality "
    "of service not supported, use another server, server moved, shared subscriptions not "
    "supported, connection rate exceeded, maximum connect time"
)
"""The meanings of the reason codes, from `REFUSED` on."""


class Refused(Refusal):
    """The broker refused: a reason code of MQTT 5, its meaning, and the broker's own words."""

    def __init__(self, response: Response) -> None:
        code, properties = f"0x{response.code:02X}", response.properties
        meaning = dict(enumerate(_MEANINGS.split(", "), REFUSED)).get(response.code, "refused")
        words = [str(properties.get(name, "")) for name in (protocol.REASON, protocol.SERVER)]
        super().__init__(" ".join((f"{meaning} ({code})", *words)), code)


class Limits(NamedTuple):
    """The broker's limits: unconfirmed events, bytes of a packet, and quality of service."""

    in_flight: int
    packet: int
    qos: int


class Client:
    """A session with a broker; a deadline is a reading of `time.monotonic`.

    Its methods raise `OSError`, `Malformed` or `Refused` if it cannot be used any more.
    """

    def __init__(self, connected: "sockets.DeadlineSocket | WebSocket", keep_alive: float) -> None:
        self.level = protocol.MQTT_5
        self.limits = Limits(IN_FLIGHT, protocol.LARGEST, MAX_QOS)
        self._socket = connected
        self._keep_alive = keep_alive
        self._received = bytearray()
        self._used = time.monotonic()
        self._used_at = time.time()
        self.refused = False
        """True if an event was refused: Mosquitto then ends the session, a moment later."""

    def is_usable(self) -> bool:
        """Return True if the session may still be open.

        A broker ends a session that is silent for longer than the keep-alive interval, and a
        frozen function may not receive the end of the connection.
        """
        # The monotonic clock may stand still while a function is frozen.
        idle = max(time.monotonic() - self._used, time.time() - self._used_at)
        usable = not self.refused and idle < self._keep_alive
        return usable and not self._received and not self._socket.has_input

    def write(self, data: bytes, deadline: float) -> None:
        """Send packets; that the connection is closed only shows when their answers are read."""
        # What the broker sent before it closed it comes first: confirmations, and its reason.
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self._socket.send(data, deadline)
        self._used, self._used_at = time.monotonic(), time.time()

    def read(self, deadline: float) -> Iterator[tuple[int, bytes]]:
        """Yield the next packets, at least one, before what ends the session is raised.

        Pings are sent while it waits. A message that a broker sends unasked is acknowledged, as its
        quality of service has it.
        """
        while not (packet := protocol.take_packet(self._received)):
            next_ping = self._used + self._keep_alive
            try:
                self._received += self._socket.receive(min(deadline, next_ping))
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise TimeoutError("the broker did not answer in time") from None
                self.write(protocol.PINGREQ, deadline)
        while packet:
            kind, body = packet
            if kind == protocol.DISCONNECT:
                raise Refused(protocol.decode_response(body))
            if kind in protocol.UNASKED and (reply := protocol.reply_to(kind, body)):
                self.write(reply, deadline)
            yield packet
            packet = protocol.take_packet(self._received)

    def ping(self, deadline: float) -> None:
        """Wait until the broker has read all that was written."""
        self.write(protocol.PINGREQ, deadline)
        while not any(kind == protocol.PINGRESP for kind, _ in self.read(deadline)):
            pass

    def log_in(self, login: Login, deadline: float) -> None:
        """Open the session, and adopt the limits that the broker announces."""
        self.write(protocol.encode_connect(login), deadline)
        kind, body = next(self.read(deadline))
        if kind != protocol.CONNACK or len(body) < 2:  # noqa: PLR2004 - flags and code
            raise Malformed("the answer to CONNECT is something else")
        response = protocol.decode_connack(body)
        if response.code:
            raise Refused(response)
        self.level = login.level
        if login.level == protocol.MQTT_5:
            keep_alive = response.number(protocol.KEEP_ALIVE, login.keep_alive)
            self._keep_alive = keep_alive or float("inf")
            receive_maximum = response.number(protocol.RECEIVE_MAXIMUM, MAX_IN_FLIGHT)
            self.limits = Limits(
                max(1, min(receive_maximum, MAX_IN_FLIGHT)),
                min(response.number(protocol.MAXIMUM_PACKET, protocol.LARGEST), protocol.LARGEST),
                response.number(protocol.MAXIMUM_QOS, MAX_QOS),
            )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.send(protocol.DISCONNECT_NORMALLY, time.monotonic())
        self._socket.close()


def connect(broker: Broker, login: Login, settings: MqttSettings, deadline: float) -> Client:
    """Open a session that is ready to publish.

    Raises:
        OSError, Malformed, Refused, HandshakeError: it cannot be opened.
        NotAuthorized: with auth = iam, there are no credentials to sign with.
    """
    context = tls.context(settings) if broker.encrypted else None
    plain = sockets.connect(broker.host, broker.port, deadline, context)
    connected: sockets.DeadlineSocket | WebSocket = plain
    try:
        if broker.websocket:
            from bucketcast.targets.mqtt import websocket  # noqa: PLC0415 - needs wsproto

            path = websocket.signed_path(settings, broker) if settings.by_iam else broker.path
            connected = websocket.upgrade(plain, broker.host_header, path, deadline)
        client = Client(connected, login.keep_alive)
        client.log_in(login, deadline)
    except BaseException:
        plain.close()
        raise
    return client
