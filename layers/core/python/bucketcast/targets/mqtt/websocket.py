"""MQTT inside a websocket, and its signed path for AWS IoT Core.

Source: section 6 of MQTT 5.0 (Use of WebSocket as a network transport): binary frames, whose
borders mean nothing, and the subprotocol `mqtt`. wsproto encodes the frames. "MQTT over WebSocket"
with Signature Version 4 of IoT Core's documentation.
"""

from http.client import SWITCHING_PROTOCOLS, responses
from typing import Final

from wsproto import ConnectionType, WSConnection, events
from wsproto.utilities import ProtocolError

from bucketcast.aws import iam_login
from bucketcast.targets.base.answers import Refusal
from bucketcast.targets.base.sockets import DeadlineSocket
from bucketcast.targets.mqtt.address import Broker
from bucketcast.targets.mqtt.settings import MqttSettings

_CLOSED: Final = "the broker closed the websocket"


class HandshakeError(Refusal):
    """The server did not open a websocket; `status` is 0 if the answer is not HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, str(status), "HandshakeError")


class WebSocket:
    """An open websocket, with the interface of `DeadlineSocket`."""

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
        self._plain.send(self._connection.send(events.BytesMessage(data=data)), deadline)

    def receive(self, deadline: float) -> bytes:
        while not self._closed:
            data = b""
            for event in _receive_events(self._plain, self._connection, deadline):
                if isinstance(event, events.BytesMessage):
                    data += event.data
                elif isinstance(event, events.Ping):
                    self._plain.send(self._connection.send(event.response()), deadline)
                elif isinstance(event, events.CloseConnection):
                    self._closed = True
            if data:
                return data
        raise ConnectionError(_CLOSED)

    def close(self) -> None:
        self._plain.close()


def upgrade(plain: DeadlineSocket, host: str, path: str, deadline: float) -> WebSocket:
    """Turn an HTTP connection into a websocket; `host` is the header's value.

    Raises:
        HandshakeError: the server refuses, or is not a websocket server for MQTT.
    """
    connection = WSConnection(ConnectionType.CLIENT)
    request = events.Request(host=host, target=path, subprotocols=["mqtt"])
    plain.send(connection.send(request), deadline)
    received: list[events.Event] = []
    while not received:
        received = _receive_events(plain, connection, deadline)
    match received[0]:  # the only one: a broker sends nothing before it receives CONNECT
        case events.RejectConnection(status_code=status):
            answer = f"{status} {responses.get(status, '')}".strip()
            raise HandshakeError(status, f"the server refuses the websocket: {answer}")
        case events.AcceptConnection(subprotocol="mqtt"):
            return WebSocket(plain, connection)
    raise HandshakeError(SWITCHING_PROTOCOLS, "the websocket is not for mqtt")


def signed_path(settings: MqttSettings, broker: Broker) -> str:
    """Return the path of the broker's URL with a signed query, new for each connection.

    Raises:
        NotAuthorized: there are no credentials to sign with.
    """
    region = settings.iam_parts["region"]
    return iam_login.websocket_path("iotdevicegateway", region, broker.host_header, broker.path)


def _receive_events(
    plain: DeadlineSocket, connection: WSConnection, deadline: float
) -> list[events.Event]:
    """Return the events of the data that arrives next, which may be incomplete and have none.

    Raises:
        HandshakeError: the data is no websocket's.
    """
    data = plain.receive(deadline)
    try:
        connection.receive_data(data)
        return list(connection.events())
    except ProtocolError as error:
        raise HandshakeError(0, f"the server does not speak websocket: {error}") from None
