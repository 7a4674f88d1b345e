"""MQTT inside a websocket.

Source: section 6 of MQTT 5.0 (Use of WebSocket as a network transport): binary frames, whose
borders mean nothing, and the subprotocol `mqtt`. Frames are wsproto's.
"""

from http.client import SWITCHING_PROTOCOLS, responses
from typing import Final

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
)
from wsproto.utilities import ProtocolError

from bucketcast.targets.base.sockets import DeadlineSocket
from bucketcast.targets.mqtt.protocol import HandshakeError

_CLOSED: Final = "the broker closed the websocket"


class WebSocket:
    """An open websocket, used as a `DeadlineSocket` is."""

    def __init__(self, plain: DeadlineSocket, connection: WSConnection) -> None:
        self._plain = plain
        self._connection = connection
        self._closed = False

    @property
    def has_input(self) -> bool:
        return self._closed or self._plain.has_input

    def send(self, data: bytes, deadline: float) -> None:
        if self._closed:
            raise ConnectionError(_CLOSED)
        self._plain.send(self._connection.send(BytesMessage(data=data)), deadline)

    def receive(self, deadline: float) -> bytes:
        while not self._closed:
            found = b""
            for event in _events(self._plain, self._connection, deadline):
                if isinstance(event, BytesMessage):
                    found += event.data
                elif isinstance(event, Ping):
                    self._plain.send(self._connection.send(event.response()), deadline)
                elif isinstance(event, CloseConnection):
                    self._closed = True
            if found:
                return found
        raise ConnectionError(_CLOSED)

    def close(self) -> None:
        self._plain.close()


def upgrade(plain: DeadlineSocket, host: str, path: str, deadline: float) -> WebSocket:
    """Turn an HTTP connection into a websocket; `host` is as the header says it.

    Raises:
        HandshakeError: the server does not do that.
    """
    connection = WSConnection(ConnectionType.CLIENT)
    opening = Request(host=host, target=path, subprotocols=["mqtt"])
    try:
        plain.send(connection.send(opening), deadline)
        found: list[Event] = []
        while not found:
            found = _events(plain, connection, deadline)
    except ProtocolError as error:
        raise HandshakeError(0, f"what answers is no websocket: {error}") from None
    match found[0]:  # a broker says nothing of its own before it is spoken to
        case RejectConnection(status_code=status):
            said = f"{status} {responses.get(status, '')}".strip()
            raise HandshakeError(status, f"what answers is no websocket: {said}")
        case AcceptConnection(subprotocol="mqtt"):
            return WebSocket(plain, connection)
    raise HandshakeError(SWITCHING_PROTOCOLS, "what answers is not for mqtt")


def _events(plain: DeadlineSocket, connection: WSConnection, deadline: float) -> list[Event]:
    """Return what comes next, perhaps nothing whole yet."""
    connection.receive_data(plain.receive(deadline))
    return list(connection.events())
