"""IoT Core's login: the request that opens a websocket is signed, but for its last parameter."""

import socket
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

from tests.servers import Settings
from tests.servers.iam import REGION, SESSION, Gate, RefusedError, read_exactly
from tests.servers.mqtt import MqttServer

PATH = "/mqtt"
_TOKEN = f"&X-Amz-Security-Token={quote(SESSION, safe='')}"


class MqttGate(Gate):
    service = "iotdevicegateway"

    def settings(self) -> Settings:
        topic = self.server.destination
        return {
            "broker": f"wss://{self.address}{PATH}",
            "cert_authority": self.server.tls.ca.read_text(),
            "topic": topic,
            "qos": "1",
            "auth": "iam",
            "iam_resource": f"arn:aws:iot:{REGION}:111122223333:topic/{topic}",
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        line = self.encrypted(client, until)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += read_exactly(line, 1)
        method, target, _ = head.decode().split(" ", 2)
        try:
            signed = target.removesuffix(_TOKEN)
            if method != "GET" or signed == target:
                raise self.refusal("its last parameter is not the session's token")
            query = {"X-Amz-Security-Token": ""}
            self.check_token(f"{self.address}{signed}", query, self.address, PATH)
        except RefusedError:
            line.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            raise
        assert isinstance(self.server, MqttServer)
        server = self.behind(f"127.0.0.1:{self.server.ports['unchecked']}", until)
        server.sendall(head)
        return line, server


def gate(server: Any) -> Gate:
    assert isinstance(server, MqttServer)
    return MqttGate(server)
