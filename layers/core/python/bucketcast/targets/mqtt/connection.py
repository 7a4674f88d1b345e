"""A session with a broker: opened, fit for another batch or not, and what is sent and answered.

MQTT has no library here: see docs/adr/0013.
"""

import contextlib
import ssl
import time
from typing import NamedTuple

from bucketcast.targets.mqtt import packets, websocket, wire
from bucketcast.targets.mqtt.address import Broker
from bucketcast.targets.mqtt.packets import Answer, Login, Malformed

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
        said = [str(answer.properties.get(name, "")) for name in (packets.REASON, packets.SERVER)]
        super().__init__(" ".join(filter(None, said)))
        self.code = answer.code


class HungUpError(ConnectionError):
    """The connection ended before the broker said yes or no to the login."""


def speaks_another(error: Exception) -> bool:
    """Whether the broker may know another version only: some hang up instead of saying so."""
    if isinstance(error, Refused):
        return error.code == _OTHER_VERSION
    return isinstance(error, HungUpError)


class Limits(NamedTuple):
    """What the broker takes: unconfirmed events, bytes a packet, the highest quality of service."""

    in_flight: int
    packet: int
    qos: int


class Connection:
    """A session that the broker agreed to; a deadline is a reading of `time.monotonic`.

    Its methods raise `OSError`, `Malformed` or `Refused` where it is of no use any more.
    """

    def __init__(self, line: wire.Line, keep_alive: float) -> None:
        self.limits = Limits(IN_FLIGHT, packets.LARGEST, HIGHEST_QOS)
        self._line = line
        self._keep_alive = keep_alive
        self._received = bytearray()
        self._used = time.monotonic()

    @property
    def is_fit(self) -> bool:
        """Whether it may still be open: a broker drops whom it has not heard for long.

        A function that slept cannot know: the news of it may have been lost meanwhile.
        """
        idle = time.monotonic() - self._used
        return idle < self._keep_alive and not self._received and not self._line.has_news

    def write(self, data: bytes, deadline: float) -> None:
        self._line.send(data, deadline)
        self._used = time.monotonic()

    def read(self, deadline: float) -> list[tuple[int, bytes]]:
        """The packets that came, at least one; what keeps the session alive is not shown."""
        while not (found := packets.split(self._received)):
            ping = self._used + self._keep_alive
            try:
                self._received += self._line.receive(min(deadline, ping))
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise TimeoutError("the broker did not answer in time") from None
                self.write(packets.PINGREQ, deadline)
        for kind, body in found:
            if kind == packets.DISCONNECT:
                raise Refused(packets.disconnect(body))
        return found

    def ping(self, deadline: float) -> None:
        """Wait until the broker has read all that was written."""
        self.write(packets.PINGREQ, deadline)
        while not any(kind == packets.PINGRESP for kind, _ in self.read(deadline)):
            pass

    def log_in(self, login: Login, deadline: float) -> None:
        """Ask for the session, and keep to what the broker says of it."""
        try:
            self.write(packets.connect(login), deadline)
            ((kind, body), *_) = self.read(deadline)
        except (ConnectionError, ssl.SSLEOFError):
            raise HungUpError("the broker hung up at the login") from None
        if kind != packets.CONNACK or len(body) < 2:  # noqa: PLR2004 - flags and code
            raise Malformed("the answer to CONNECT is something else")
        answer = packets.connack(body)
        if answer.code:
            raise Refused(answer)
        if login.level == packets.MQTT_5:
            self._keep_alive = answer.number(packets.KEEP_ALIVE, login.keep_alive) or float("inf")
            self.limits = Limits(
                max(1, min(answer.number(packets.RECEIVE_MAXIMUM, MOST_IN_FLIGHT), MOST_IN_FLIGHT)),
                min(answer.number(packets.MAXIMUM_PACKET, packets.LARGEST), packets.LARGEST),
                answer.number(packets.MAXIMUM_QOS, HIGHEST_QOS),
            )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._line.send(packets.GOODBYE, time.monotonic())
        self._line.close()


def connect(
    broker: Broker, login: Login, context: ssl.SSLContext | None, deadline: float
) -> Connection:
    """A session that is ready to publish; the broker's URL may hold its login.

    Raises:
        OSError, UnicodeError, Malformed, Refused, websocket.HandshakeError: there is none.
    """
    dialled = wire.dial(broker.host, broker.port, context, deadline)
    line: wire.Line = dialled
    try:
        if broker.websocket:
            line = websocket.upgrade(dialled, broker.netloc, broker.path, deadline)
        made = Connection(line, login.keep_alive)
        made.log_in(login, deadline)
    except BaseException:
        dialled.close()
        raise
    return made
