"""A webhook endpoint, plain, with TLS and mutual TLS, that can be made to fail."""

import sys
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import msgspec

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import ports
from tests.servers.process import Process
from tests.servers.receiver import Answer, Configuration, Request
from tests.servers.tls import Tls

TOKEN = "webhook-s3cret"
"""Accepted as `Bearer`."""

_ROOT = Path(__file__).parents[2]


class WebhookServer(Server):
    """Its `destination` is a path; paths below /open need no login."""

    kind = "webhook"
    destination = "/events"
    password_option = "auth_token"

    def __init__(self, process: Process, tls: Tls, listeners: Configuration) -> None:
        super().__init__(process, tls, listeners.plain)
        self.listeners = listeners
        self._file = process.folder / "requests.jsonl"
        self._requests: list[Request] = []
        self._bytes_read = 0

    def settings(self, **overrides: str) -> Settings:
        endpoint = f"http://{self.address}{self.destination}"
        return {"endpoint": endpoint, "auth_token": TOKEN, **overrides}

    def encrypted(self, *, demanding: bool) -> Settings:
        port = self.listeners.mtls if demanding else self.listeners.tls
        return {"endpoint": f"https://127.0.0.1:{port}{self.destination}"}

    def received(self, destination: str = "") -> list[Arrival]:
        """The events that were answered 2xx; `requests` has the others too."""
        return [
            Arrival(
                body=each.body,
                headers=each.headers,
                time=datetime.fromtimestamp(each.at, UTC).isoformat(),
            )
            for each in self.accepted(destination)
        ]

    def accepted(self, destination: str = "") -> list[Request]:
        """Return the requests of a path that were answered 2xx."""
        path = destination or self.destination
        return [each for each in self.requests() if 200 <= each.status < 300 and each.path == path]

    def requests(self) -> list[Request]:
        """All since `clear`, refused ones too, in the order they came; also while it is down."""
        with self._file.open("rb") as file:
            file.seek(self._bytes_read)
            new, newline, _ = file.read().rpartition(b"\n")  # the last line may be half written
        self._requests += msgspec.json.decode(
            b"[" + new.replace(b"\n", b",") + b"]", type=list[Request]
        )
        self._bytes_read += len(new) + len(newline)
        return list(self._requests)

    def answer(self, *answers: Answer) -> None:
        """Give the first of these that fits, else 200; a restart forgets them."""
        self.ask("PUT", msgspec.json.encode(answers))

    def always_answer(self, *answers: Answer) -> None:
        """As `answer`, also after a restart."""
        file = self.process.folder / "receiver.json"
        kept = msgspec.json.decode(file.read_bytes(), type=Configuration)
        file.write_bytes(msgspec.json.encode(msgspec.structs.replace(kept, answers=list(answers))))
        self.answer(*answers)

    def clear(self) -> None:
        self.answer()
        with self._file.open("r+b") as file:
            file.truncate()
        self._requests.clear()
        self._bytes_read = 0

    def ask(self, method: str, body: bytes = b"") -> None:
        connection = HTTPConnection("127.0.0.1", self.listeners.control, timeout=60)
        try:
            connection.request(method, "/", body)
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != 200:
            message = f"the webhook receiver answered {status} to {method} of {body!r}"
            raise RuntimeError(message)


def start(folder: Path, tls: Tls) -> WebhookServer:
    """Start the receiver with its requests in `folder`; see `servers.Module.start`."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, "plain", "tls", "mtls", "control")
    listeners = Configuration(
        plain=chosen["plain"],
        tls=chosen["tls"],
        mtls=chosen["mtls"],
        control=chosen["control"],
        logins=[f"Bearer {TOKEN}"],
        cert=str(tls.server_cert),
        key=str(tls.server_key),
        ca=str(tls.ca),
    )
    (folder / "receiver.json").write_bytes(msgspec.json.encode(listeners))
    (folder / "requests.jsonl").touch()
    process = Process(
        [sys.executable, "-m", "tests.servers.receiver", str(folder)],
        folder,
        ready=lambda: server.ask("GET"),
        not_ready_yet=(OSError, HTTPException),
        environment={"PYTHONPATH": str(_ROOT)},
    )
    server = WebhookServer(process, tls, listeners)
    process.start()
    return server
