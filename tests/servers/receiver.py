"""The webhook server's program: takes events by HTTP/1.1; can be made slow or refuse.

    python -m tests.servers.receiver FOLDER      where FOLDER/receiver.json holds a `Configuration`

It listens plain, with TLS, and with TLS that demands a client certificate. Each request is in
FOLDER/requests.jsonl, a `Request` a line, before it is answered, so that neither a kill nor a pause
hides what arrived. A path below /open needs no login; others want one of the `Authorization` values
of the configuration: 401 without, 403 with another. A control port takes the answers to give: PUT a
JSON list of `Answer`.
"""

import asyncio
import gzip
import os
import re
import signal
import ssl
import sys
import time
import zlib
from collections.abc import Callable
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import cast

import httptools
import msgspec


class Request(msgspec.Struct):
    """One request as it came. `body` is base64 in the file; header names are in lower case."""

    at: float
    """Seconds since 1970 when its last byte was read."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    """What it was answered; 0 where the connection was closed instead."""
    connection: int
    """Counts connections from 1: equal numbers came over one persistent connection."""


class Answer(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What to answer to requests of the `path`, whose body the pattern `match` is found in.

    Either is empty for all.
    """

    status: int = 200
    headers: dict[str, str] = {}
    body: str = ""
    path: str = ""
    match: str = ""
    times: int | None = None
    """How often; None is for ever. Used up, it is the next answer's turn."""
    delay: float = 0.0
    """Seconds to wait before it."""
    close: bool = False
    """Close the connection instead."""


class Configuration(msgspec.Struct, forbid_unknown_fields=True):
    """Ports on 127.0.0.1, accepted `Authorization` values, paths of PEM files."""

    plain: int
    tls: int
    mtls: int
    control: int
    logins: list[str]
    cert: str
    key: str
    ca: str
    answers: list[Answer] = []
    """What it begins with, until it is given others."""


_OK = Answer()
_NEEDS_LOGIN = Answer(status=401, headers={"WWW-Authenticate": "Bearer"}, body="who are you?")
_WRONG_LOGIN = Answer(status=403, body="this login is not known here")


class Receiver:
    """What all connections share: who may, what to answer, and where it is written."""

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        self.logins = frozenset(configuration.logins)
        self.answers = configuration.answers
        self.connections = count(1)
        self._encode = msgspec.json.Encoder().encode
        # Appending, so that a file that the tests empty meanwhile goes on at its new end.
        flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY
        self._file = os.open(folder / "requests.jsonl", flags, 0o644)

    def take(self, request: Request) -> Answer:
        """Decide what to answer, and write the request down with it."""
        answer = self._answer_to(request)
        request.status = 0 if answer.close else answer.status
        os.write(self._file, self._encode(request) + b"\n")
        return answer

    def control(self, request: Request) -> Answer:
        """Take new answers; any other request only shows that the program runs."""
        if request.method == "PUT":
            self.answers = msgspec.json.decode(request.body, type=list[Answer])
        return _OK

    def _answer_to(self, request: Request) -> Answer:
        if not request.path.startswith("/open"):
            login = request.headers.get("authorization")
            if login not in self.logins:
                return _NEEDS_LOGIN if login is None else _WRONG_LOGIN
        for answer in self.answers:
            if (
                answer.times != 0
                and answer.path in ("", request.path)
                and (not answer.match or re.search(answer.match.encode(), request.body))
            ):
                if answer.times is not None:
                    answer.times -= 1
                return answer
        return _OK


class Connection(asyncio.Protocol):
    """One client's connection; it is to wait for each answer before it sends on."""

    def __init__(self, decide: Callable[[Request], Answer], number: int) -> None:
        self.decide = decide
        self.number = number
        self.parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._write(Answer(status=400, body=str(error)), keep=False)

    def on_message_begin(self) -> None:
        self.path = b""
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self.headers.get("expect", "").lower() == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        answer = self.decide(
            Request(
                at=time.time(),
                method=self.parser.get_method().decode("latin-1"),
                path=self.path.decode("latin-1"),
                headers=self.headers,
                body=b"".join(self.body),
                status=0,
                connection=self.number,
            )
        )
        keep = self.parser.should_keep_alive()
        if answer.delay:
            asyncio.get_running_loop().call_later(answer.delay, self._write, answer, keep)
        else:
            self._write(answer, keep)

    def _write(self, answer: Answer, keep: bool) -> None:  # noqa: FBT001 call_later takes no keywords
        if self.transport.is_closing():
            return
        if answer.close:
            self.transport.abort()
            return
        body = answer.body.encode()
        if (coding := answer.headers.get("content-encoding")) is not None:
            body = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
        lines = [
            f"HTTP/1.1 {answer.status} {_phrase(answer.status)}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in answer.headers.items()),
            *(() if keep else ("Connection: close",)),
        ]
        self.transport.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        if not keep:
            self.transport.close()


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"


def _tls(configuration: Configuration, *, demand: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=configuration.ca)
    context.load_cert_chain(configuration.cert, configuration.key)
    context.verify_mode = ssl.CERT_REQUIRED if demand else ssl.CERT_NONE
    return context


async def _serve(configuration: Configuration, folder: Path) -> None:
    receiver = Receiver(configuration, folder)
    loop = asyncio.get_running_loop()
    listeners = (
        (configuration.plain, None, receiver.take),
        (configuration.tls, _tls(configuration, demand=False), receiver.take),
        (configuration.mtls, _tls(configuration, demand=True), receiver.take),
        (configuration.control, None, receiver.control),
    )
    for port, context, decide in listeners:

        def connection(decide: Callable[[Request], Answer] = decide) -> Connection:
            return Connection(decide, next(receiver.connections))

        await loop.create_server(connection, "127.0.0.1", port, ssl=context, backlog=1024)
    end = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, end.set)
    await end.wait()


def main() -> None:
    """Run until SIGTERM."""
    folder = Path(sys.argv[1])
    configuration = msgspec.json.decode((folder / "receiver.json").read_bytes(), type=Configuration)
    asyncio.run(_serve(configuration, folder))


if __name__ == "__main__":
    main()
