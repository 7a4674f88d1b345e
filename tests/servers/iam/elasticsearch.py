"""Amazon OpenSearch Service's login: each request is signed in its headers."""

import base64
import hashlib
import hmac
import http.client
import re
import socket
from contextlib import ExitStack
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.servers import Settings
from tests.servers.elasticsearch import PASSWORD, USER, SearchServer
from tests.servers.iam import (
    ACCESS_KEY,
    REGION,
    SECRET_KEY,
    SESSION,
    Gate,
    RefusedError,
    read_exactly,
)

_AUTHORIZATION = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/\d{{8}}/{REGION}/es/aws4_request, "
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)
_LIFETIME = timedelta(minutes=5)
_DENIED = b'{"message":"The security token included in the request is invalid."}'


class SearchGate(Gate):
    """Answers each request itself, with what the server says; so there is nothing to join."""

    service = "es"

    def settings(self) -> Settings:
        return {
            "url": f"https://{self.address}",
            "cert_authority": self.server.tls.ca.read_text(),
            "index": self.server.destination,
            "auth": "iam",
            "iam_resource": f"arn:aws:es:{REGION}:111122223333:domain/events",
        }

    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        line = self.encrypted(client, until)
        while True:
            method, path, headers, body = _request(line)
            try:
                self._check(method, path, headers, body)
            except RefusedError:
                _answer(line, HTTPStatus.FORBIDDEN, _DENIED)
            else:
                _answer(line, *self._ask(method, path, body))

    def _check(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        header = headers.get("authorization", "")
        self.credentials.append(header)
        found = _AUTHORIZATION.fullmatch(header)
        if not found or headers.get("x-amz-security-token") != SESSION:
            raise self.refusal(f"another form: {sorted(headers)}")
        names = found["names"].split(";")
        if missing := {"host", "x-amz-date", "x-amz-security-token"}.difference(names):
            raise self.refusal(f"not signed: {missing}")
        if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            raise self.refusal("the hash is another body's")
        self.check_time(headers["x-amz-date"], _LIFETIME)
        signed = {name: headers[name] for name in names}
        request = AWSRequest(method, f"https://{self.address}{path}", data=body, headers=signed)
        request.context["timestamp"] = headers["x-amz-date"]
        signer = SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), self.service, REGION)
        text = signer.string_to_sign(request, signer.canonical_request(request))
        if not hmac.compare_digest(signer.signature(text, request), found["signature"]):
            raise self.refusal("the signature is another key's")

    def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        host, _, port = self.server.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            connection.close()


def gate(server: Any) -> Gate:
    assert isinstance(server, SearchServer)
    return SearchGate(server)


def _request(line: socket.socket) -> tuple[str, str, dict[str, str], bytes]:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(line, 1)
    first, *rest = head.decode().splitlines()
    method, path, _ = first.split(" ")
    pairs = (each.split(": ", 1) for each in rest if each)
    headers = {name.lower(): text for name, text in pairs}
    return method, path, headers, read_exactly(line, int(headers.get("content-length", "0")))


def _answer(line: socket.socket, status: int, body: bytes) -> None:
    lines = (
        f"HTTP/1.1 {int(status)} Said",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
