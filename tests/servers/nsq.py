"""nsqd with TLS, secrets that a test service authorizes, and each message on disk at once."""

import base64
import json
import ssl
import sys
import tomllib
import urllib.request
import uuid
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import MissingProgramError, ports
from tests.servers.nsq_client import Client, Message
from tests.servers.process import Process
from tests.servers.tls import Tls

SECRET = "nsq-s3cret"
LIMITED_SECRET = "limited-s3cret"
"""May only use topics that begin with `ev.`."""
CHANNEL = "arrived"

_ROOT = Path(__file__).parents[2]
_PROGRAM = _ROOT / ".local" / "servers" / "nsqd" / "nsqd"

# To require certificates, nsqd requires TLS from all clients; its HTTP interface stays plain.
_MUTUAL_TLS = {"tls_client_auth_policy": "require-verify", "tls_required": "tcp-https"}


class NsqServer(Server):
    """Its `destination` is a topic.

    Messages are read from the topic's channel and stored in a file of the folder by their ids, as
    nsqd may deliver a message again, above all after a kill.
    """

    kind = "nsq"
    destination = "ev.events"
    password_option = "auth_secret"

    def __init__(self, process: Process, tls: Tls, tcp: int, http: int) -> None:
        super().__init__(process, tls, tcp)
        self.http = http

    def settings(self, **overrides: str) -> Settings:
        """See `Server`; nsqd stops requiring certificates, which `mtls_settings` started."""
        self._require_certificates(required=False)
        return self._login(overrides)

    def _login(self, overrides: dict[str, str]) -> Settings:
        settings = {"nsqd_address": self.address, "topic": self.destination, "auth_secret": SECRET}
        return {**settings, **overrides}

    def encrypted(self, *, demanding: bool) -> Settings:
        """See `Server`; nsqd restarts to demand certificates, until other settings are used."""
        self._require_certificates(required=demanding)
        return {"tls": "on"}

    def _over_tls(self, own: Settings) -> Settings:
        return self._login({"cert_authority": self.tls.ca.read_text(), **own})

    def _require_certificates(self, *, required: bool) -> None:
        others = {key: value for key, value in self._options().items() if key not in _MUTUAL_TLS}
        self._run_with({**others, **_MUTUAL_TLS} if required else others)

    def configure(self, **options: str | int | None) -> None:
        """Run with these options of nsqd, `_` for `-`, and the defaults; None removes a default."""
        merged = {**_default_options(self.tls), **options}
        self._run_with({key: value for key, value in merged.items() if value is not None})

    def _options(self) -> dict[str, Any]:
        return tomllib.loads((self.process.folder / "nsqd.cfg").read_text())

    def _run_with(self, options: dict[str, Any]) -> None:
        if self._options() != options:
            self.process.stop()
            _write_options(self.process.folder, options)
            self.process.start()

    def client(self) -> Client:
        """Connect as nsqd's current options require; the caller closes the connection."""
        if "tls_required" not in self._options():
            return Client(self.address, SECRET)
        context = ssl.create_default_context(cafile=self.tls.ca)
        context.load_cert_chain(self.tls.client_cert, self.tls.client_key)
        return Client(self.address, SECRET, context)

    def received(self, destination: str = "") -> list[Arrival]:
        topic = destination or self.destination
        self._drain(topic)
        return [Arrival(body=body) for body in self._stored(topic).values()]

    def _drain(self, topic: str) -> None:
        """Store the topic's messages up to one that is published here."""
        end = uuid.uuid4().bytes
        stored = self._stored(topic)
        with self._file(topic).open("a") as file, self.client() as client:
            client.publish(topic, end)
            for message in client.messages(topic, CHANNEL):
                if message.body == end:
                    client.send(f"FIN {message.id}")
                    break
                if message.id not in stored:
                    stored[message.id] = message.body
                    file.write(_line(message))
                    file.flush()
            client.end_subscription()

    def _stored(self, topic: str) -> dict[str, bytes]:
        file = self._file(topic)
        lines = file.read_text().splitlines() if file.exists() else []
        return {id_: base64.b64decode(body) for id_, body in map(json.loads, lines)}

    def _file(self, topic: str) -> Path:
        return self.process.folder / f"{topic}.jsonl"

    def clear(self) -> None:
        self.configure()
        for topic in self.request("/stats?format=json")["topics"]:
            self.request(f"/topic/delete?topic={quote(topic['topic_name'])}", "POST")
        for file in self.process.folder.glob("*.jsonl"):
            file.unlink()

    def request(self, path: str, method: str = "GET") -> Any:
        """Return the answer of nsqd's HTTP interface, which requires no secret."""
        url = f"http://127.0.0.1:{self.http}{path}"
        request = urllib.request.Request(url, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            return json.loads(response.read() or "null")


def _line(message: Message) -> str:
    return json.dumps([message.id, base64.b64encode(message.body).decode()]) + "\n"


def _default_options(tls: Tls) -> dict[str, Any]:
    """Return options for optional TLS, and for messages that survive a kill."""
    return {
        "tls_cert": str(tls.server_cert),
        "tls_key": str(tls.server_key),
        "mem_queue_size": 0,
        "sync_every": 1,
    }


def _write_options(folder: Path, options: dict[str, Any]) -> None:
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in options.items())
    (folder / "nsqd.cfg").write_text("".join(lines))


def start(folder: Path, tls: Tls) -> NsqServer:
    """Start nsqd with its data in `folder`; see `servers.Module.start`."""
    if not _PROGRAM.is_file():
        raise MissingProgramError(_PROGRAM.name)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, "tcp", "http", "authority")
    topics = {SECRET: ".*", LIMITED_SECRET: r"^ev\."}
    config = folder / "authority.json"
    config.write_text(json.dumps({"port": chosen["authority"], "topics": topics}))
    if not (folder / "nsqd.cfg").exists():
        _write_options(folder, _default_options(tls))
    nsqd = {
        "config": folder / "nsqd.cfg",
        "data-path": folder / "data",
        "tcp-address": f"127.0.0.1:{chosen['tcp']}",
        "http-address": f"127.0.0.1:{chosen['http']}",
        "https-address": "",
        "broadcast-address": "127.0.0.1",
        "auth-http-address": f"127.0.0.1:{chosen['authority']}",
        "tls-root-ca-file": tls.ca,
        "log-level": "warn",
    }
    authority = (sys.executable, "-m", "tests.servers.authority", str(folder))

    process = Process(
        [*authority, str(_PROGRAM), *(f"-{name}={value}" for name, value in nsqd.items())],
        folder,
        ready=lambda: server.request("/info"),  # whatever its certificate
        not_ready_yet=(OSError, HTTPException),
        environment={"PYTHONPATH": str(_ROOT)},
    )
    server = NsqServer(process, tls, chosen["tcp"], chosen["http"])
    process.start()
    return server
