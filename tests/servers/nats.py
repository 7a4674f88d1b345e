"""NATS in its three ways: core, JetStream, and the NATS Streaming that went before it.

Core NATS keeps nothing. So that tests can see what arrived, a stream records all below `ev.`
for core too: a reader like any other, that is there whenever the server is.
"""

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nats import errors
from nats.aio.client import Client
from nats.js.client import JetStreamContext

from tests.servers import Arrival, Server, Settings
from tests.servers import nats_stream as stream
from tests.servers import nats_streaming as stan
from tests.servers.machine import MissingProgramError, ports
from tests.servers.nats_client import connected
from tests.servers.process import Process
from tests.servers.tls import Tls

PRODUCTS = ("core", "jetstream", "streaming")
TOKEN = "t0ken-s3cret"
CLUSTER = "test-cluster"
LOGIN = f'authorization {{ token: "{TOKEN}" }}\nallow_non_tls: true'

T = TypeVar("T")

_PROGRAMS = Path(__file__).parents[2] / ".local" / "servers"
_CONFIGURATION = """\
include "changing.conf"
listen: "127.0.0.1:{nats}"
http: "127.0.0.1:{http}"
"""
_CERTIFICATES = """\
cert_file: "{cert}"
key_file: "{key}"
ca_file: "{ca}"
timeout: 5
"""


class NatsServer(Server):
    """Its `destination` is a subject. One port accepts plain and encrypted connections."""

    kind = "nats"
    destination = "ev.events"
    program = "nats-server"
    refusals = (errors.Error, OSError, asyncio.TimeoutError)
    process: Process

    def __init__(self, folder: Path, tls: Tls, product: str) -> None:
        self.folder, self.tls, self.product = folder, tls, product
        self.keeps_what_it_confirmed = product != "core"
        self.ports = ports(folder, "nats", "http")
        self._login: Mapping[str, Any] = {"token": TOKEN}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports['nats']}"

    def version(self) -> str:
        async def ask() -> str:
            async with self.connected() as client:
                found = client.connected_server_version
                return f"nats-server {found.major}.{found.minor}.{found.patch}, {self.product}"

        return asyncio.run(ask())

    def settings(self, **overrides: str) -> Settings:
        jetstream = {"jetstream": "on"} if self.product == "jetstream" else {}
        return {
            "address": self.address,
            "subject": self.destination,
            "token": TOKEN,
            **jetstream,
            **overrides,
        }

    def wrong_password_settings(self, **overrides: str) -> Settings:
        return self.settings(**{"token": "wr0ng-s3cret", **overrides})

    def tls_settings(self, **overrides: str) -> Settings:
        """See `Server`; client certificates are not asked for again after `mtls_settings`."""
        self.configure()
        return self._tls_settings(overrides)

    def mtls_settings(self, **overrides: str) -> Settings:
        """See `Server`; encrypted connections need one until `tls_settings` or `clear`."""
        self.configure(encryption="verify: true")
        own = {
            "client_cert": self.tls.client_cert.read_text(),
            "client_key": self.tls.client_key.read_text(),
        }
        return self._tls_settings({**own, **overrides})

    def _tls_settings(self, overrides: dict[str, str]) -> Settings:
        verified = {"tls": "on", "cert_authority": self.tls.ca.read_text()}
        return self.settings(**{**verified, **overrides})

    def configure(self, login: str = LOGIN, *, encryption: str | None = "", more: str = "") -> None:
        """Let the server go on with this part of its configuration; nothing if it has it.

        `encryption` stands beside the certificates; without it nothing is encrypted. `more` stands
        with what is the product's own.
        """
        tls = (
            f'tls {{ include "certificates.conf"\n{encryption} }}\n'
            if encryption is not None
            else ""
        )
        text = f"{tls}{login}\n{self.own(more)}\n"
        file = self.folder / "changing.conf"
        if not file.exists() or file.read_text() != text:
            file.touch(mode=0o600)
            file.write_text(text)
            if self.process.running:
                self.process.stop()
                self.process.start()

    def log_in_by(self, own: Mapping[str, Any], login: str) -> None:
        """Take `login` from now on; `own` is how nats-py connects then, with all rights."""
        self._login = own
        self.configure(login)

    @contextmanager
    def configured(
        self, login: str = LOGIN, *, encryption: str | None = "", more: str = "", **own: Any
    ) -> Iterator[None]:
        """As `configure`, for as long; `own` is how nats-py connects then, with all rights."""
        before, self._login = self._login, own or self._login
        try:
            self.configure(login, encryption=encryption, more=more)
            yield
        finally:
            self._login = before
            self.configure()

    def write_configuration(self) -> None:
        """Write what stays the same for as long as the server runs, and the rest as usual."""
        files = {"cert": self.tls.server_cert, "key": self.tls.server_key, "ca": self.tls.ca}
        (self.folder / "certificates.conf").write_text(_CERTIFICATES.format(**files))
        (self.folder / "nats.conf").touch(mode=0o600)
        (self.folder / "nats.conf").write_text(_CONFIGURATION.format(**self.ports))
        self.configure()

    def own(self, more: str) -> str:
        """The product's part of the configuration."""
        return f'jetstream {{ store_dir: "{self.folder}/jetstream"\n{more} }}'

    def connected(self) -> AbstractAsyncContextManager[Client]:
        """A client with all rights."""
        return connected(self.address, **self._login)

    def received(self, destination: str = "") -> list[Arrival]:
        return self.streams(partial(stream.arrivals, subject=destination or self.destination))

    def clear(self) -> None:
        self.configure()
        self.streams(stream.make)

    def stop(self) -> None:
        """See `Server`; what core NATS confirmed is in the stream, which is more than it says."""
        self._settle()
        super().stop()

    def kill(self) -> None:
        """See `Server`, and `stop`."""
        self._settle()
        super().kill()

    def _settle(self) -> None:
        if self.product == "core" and self.process.running:
            self.resume()
            self.streams(stream.settle)

    def ready(self) -> None:
        """See that it answers; its stream is made where there is none."""
        self.streams(stream.find_or_make)

    def streams(self, work: Callable[[JetStreamContext], Coroutine[Any, Any, T]]) -> T:
        """What that does to the server's streams."""

        async def use() -> T:
            async with self.connected() as client:
                return await work(client.jetstream(timeout=10))

        return asyncio.run(use())


class StreamingServer(NatsServer):
    """Its `destination` is a channel."""

    program = "nats-streaming-server"

    def version(self) -> str:
        return f"NATS Streaming {stan.status(self.ports['http'], 'serverz')['version']}"

    def settings(self, **overrides: str) -> Settings:
        own = {
            "streaming": "on",
            "streaming_async": "on",
            "streaming_cluster_id": CLUSTER,
        }
        return super().settings(**{**own, **overrides})

    def own(self, more: str) -> str:
        return f"""\
streaming {{
  cluster_id: "{CLUSTER}"
  store: file
  dir: "{self.folder}/streaming"
  {more or f'token: "{TOKEN}"'}
}}"""

    def received(self, destination: str = "") -> list[Arrival]:
        return asyncio.run(self._received(destination or self.destination))

    async def _received(self, subject: str) -> list[Arrival]:
        if subject not in stan.status(self.ports["http"], "channelsz").get("names", ()):
            return []
        found = stan.status(self.ports["http"], f"channelsz?channel={subject}")
        async with self.connected() as client:
            session = await stan.Session.open(client, CLUSTER)
            bodies = await session.read(subject, found["msgs"])
            await session.close()
        return [Arrival(body=body) for body in bodies]

    def clients(self) -> list[str]:
        """The names of those that it knows."""
        return list(stan.status(self.ports["http"], "clientsz").get("clients", ()))

    def clear(self) -> None:
        """See `Server`; it forgets a channel only with all it has."""
        self.configure()
        self.process.stop()
        shutil.rmtree(self.folder / "streaming")
        self.process.start()

    def ready(self) -> None:
        async def ask() -> None:
            async with self.connected() as client:
                await (await stan.Session.open(client, CLUSTER)).close()

        asyncio.run(ask())


def start(folder: Path, tls: Tls, *, outlives: bool = False, product: str) -> NatsServer:
    """Start it with its data in `folder`; see `servers.Module.start`."""
    kind = StreamingServer if product == "streaming" else NatsServer
    program = _PROGRAMS / kind.program / kind.program
    if not program.exists():
        raise MissingProgramError(kind.program)
    folder.mkdir(parents=True, exist_ok=True)
    server = kind(folder, tls, product)
    server.process = Process(
        [str(program), "-c", str(folder / "nats.conf")],
        folder,
        ready=server.ready,
        not_ready_yet=kind.refusals,
        outlives=outlives,
    )
    if not server.process.running:
        server.write_configuration()
    server.process.start()
    return server
