"""A session with a broker: opened, fit for another batch or not, and what is sent and answered.

MQTT has no library here: see docs/adr/0013.
"""

import contextlib
import ssl
import time
from typing import TYPE_CHECKING, NamedTuple

from bucketcast.targets.base import sockets, tls
from bucketcast.targets.base.options import Tls
from bucketcast.targets.mqtt import protocol
from bucketcast.targets.mqtt.address import Broker
from bucketcast.targets.mqtt.protocol import Answer, Login, Malformed

if TYPE_CHECKING:
    from bucketcast.targets.mqtt.websocket import WebSocket

IN_FLIGHT = 20
"""Events that a broker of MQTT 3, which cannot say it, takes before the first is confirmed."""
MOST_IN_FLIGHT = 1000
HIGHEST_QOS = 2
REFUSED = 0x80
"""Reason codes from here on are refusals."""
_OTHER_VERSION = 0x84


class Refused(Exception):
    """The broker's own no: a reason code of MQTT 5, and what it said beside it."""

    def __init__(self, answer: Answer) -> None:
        said = [str(answer.properties.get(name, "")) for name in (protocol.REASON, protocol.SERVER)]
        super().__init__(" ".join(filter(None, said)))
        self.code = answer.code


class HungUpError(ConnectionError):
    """The connection ended before the broker said yes or no to the login."""


def speaks_another(error: Exception) -> bool:
    """Return whether the broker may want another version: some hang up without saying so."""
    if isinstance(error, Refused):
        return error.code == _OTHER_VERSION
    return isinstance(error, HungUpError)


class Limits(NamedTuple):
    """What the broker takes: unconfirmed events, bytes a packet, the highest quality of service."""

    in_flight: int
    packet: int
    qos: int


class Client:
    """A session that the broker agreed to; a deadline is a reading of `time.monotonic`.

    Its methods raise `OSError`, `Malformed` or `Refused` where it is of no use any more.
    """

    def __init__(self, line: "sockets.DeadlineSocket | WebSocket", keep_alive: float) -> None:
        self.limits = Limits(IN_FLIGHT, protocol.LARGEST, HIGHEST_QOS)
        self._line = line
        self._keep_alive = keep_alive
        self._received = bytearray()
        self._used = time.monotonic()
        self._used_at = time.time()
        self.refused = False
        """Whether an event was refused: Mosquitto then ends the session, a moment later."""

    @property
    def is_fit(self) -> bool:
        """Whether it may still be open: a broker drops whom it has not heard for long.

        A function that slept cannot know: the news of it may have been lost meanwhile.
        """
        # The monotonic clock may stand still while a function is frozen.
        idle = max(time.monotonic() - self._used, time.time() - self._used_at)
        usable = not self.refused and idle < self._keep_alive
        return usable and not self._received and not self._line.has_input

    def write(self, data: bytes, deadline: float) -> None:
        self._line.send(data, deadline)
        self._used, self._used_at = time.monotonic(), time.time()

    def read(self, deadline: float) -> list[tuple[int, bytes]]:
        """Return the packets that came, at least one; what keeps the session alive is not shown."""
        while not (found := protocol.split(self._received)):
            ping = self._used + self._keep_alive
            try:
                self._received += self._line.receive(min(deadline, ping))
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise TimeoutError("the broker did not answer in time") from None
                self.write(protocol.PINGREQ, deadline)
        for kind, body in found:
            if kind == protocol.DISCONNECT:
                raise Refused(protocol.disconnect(body))
        return found

    def ping(self, deadline: float) -> None:
        """Wait until the broker has read all that was written."""
        self.write(protocol.PINGREQ, deadline)
        while not any(kind == protocol.PINGRESP for kind, _ in self.read(deadline)):
            pass

    def log_in(self, login: Login, deadline: float) -> None:
        """Ask for the session, and keep to what the broker says of it."""
        try:
            self.write(protocol.connect(login), deadline)
            ((kind, body), *_) = self.read(deadline)
        except (ConnectionError, ssl.SSLEOFError):
            raise HungUpError("the broker hung up at the login") from None
        if kind != protocol.CONNACK or len(body) < 2:  # noqa: PLR2004 - flags and code
            raise Malformed("the answer to CONNECT is something else")
        answer = protocol.connack(body)
        if answer.code:
            raise Refused(answer)
        if login.level == protocol.MQTT_5:
            self._keep_alive = answer.number(protocol.KEEP_ALIVE, login.keep_alive) or float("inf")
            most = answer.number(protocol.RECEIVE_MAXIMUM, MOST_IN_FLIGHT)
            self.limits = Limits(
                max(1, min(most, MOST_IN_FLIGHT)),
                min(answer.number(protocol.MAXIMUM_PACKET, protocol.LARGEST), protocol.LARGEST),
                answer.number(protocol.MAXIMUM_QOS, HIGHEST_QOS),
            )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._line.send(protocol.GOODBYE, time.monotonic())
        self._line.close()


def connect(broker: Broker, login: Login, settings: Tls, deadline: float, path: str = "") -> Client:
    """Open a session that is ready to publish; a `path` stands for that of the broker's URL.

    Raises:
        OSError, UnicodeError, Malformed, Refused, HandshakeError: there is none.
    """
    context = tls.context(settings) if broker.encrypted else None
    plain = sockets.connect(
        broker.host, broker.port, deadline, context, closed_message="the broker hung up"
    )
    line: sockets.DeadlineSocket | WebSocket = plain
    try:
        if broker.websocket:
            from bucketcast.targets.mqtt import websocket  # noqa: PLC0415 - needs wsproto

            line = websocket.upgrade(plain, broker.host_header, path or broker.path, deadline)
        made = Client(line, login.keep_alive)
        made.log_in(login, deadline)
    except BaseException:
        plain.close()
        raise
    return made
