"""NATS as three products: core, JetStream, and NATS Streaming, JetStream's predecessor.

Core NATS stores nothing. So that tests can read what arrived, a stream records all subjects below
`ev.` for core too: it is a subscriber like any other.
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
from tests.servers.nats_client import connect
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
    password_option = "token"
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

    def settings(self, **overrides: str) -> Settings:
        jetstream = {"jetstream": "on"} if self.product == "jetstream" else {}
        return {
            "address": self.address,
            "subject": self.destination,
            "token": TOKEN,
            **jetstream,
            **overrides,
        }

    def encrypted(self, *, demanding: bool) -> Settings:
        """See `Server`; it demands certificates until this is called again, or `clear`."""
        self.configure(encryption="verify: true" if demanding else "")
        return {"tls": "on"}

    def configure(self, login: str = LOGIN, *, encryption: str | None = "", more: str = "") -> None:
        """Restart the server with this part of its configuration, unless it already has it.

        `encryption` has options beside the certificates; None turns encryption off. `more` has
        options of the product.
        """
        tls = (
            f'tls {{ include "certificates.conf"\n{encryption} }}\n'
            if encryption is not None
            else ""
        )
        configuration = f"{tls}{login}\n{self.product_options(more)}\n"
        file = self.folder / "changing.conf"
        if not file.exists() or file.read_text() != configuration:
            file.touch(mode=0o600)
            file.write_text(configuration)
            if self.process.running:
                self.process.stop()
                self.process.start()

    def change_login(self, admin: Mapping[str, Any], login: str) -> None:
        """Configure this `login`; `admin` has nats-py's options for a login with all rights."""
        self._login = admin
        self.configure(login)

    @contextmanager
    def configured(
        self, login: str = LOGIN, *, encryption: str | None = "", more: str = "", **admin: Any
    ) -> Iterator[None]:
        """Configure the server for a while; `admin` has nats-py's options for all rights."""
        before, self._login = self._login, admin or self._login
        try:
            self.configure(login, encryption=encryption, more=more)
            yield
        finally:
            self._login = before
            self.configure()

    def write_configuration(self) -> None:
        """Write the constant part of the configuration, and the default for the rest."""
        files = {"cert": self.tls.server_cert, "key": self.tls.server_key, "ca": self.tls.ca}
        (self.folder / "certificates.conf").write_text(_CERTIFICATES.format(**files))
        (self.folder / "nats.conf").touch(mode=0o600)
        (self.folder / "nats.conf").write_text(_CONFIGURATION.format(**self.ports))
        self.configure()

    def product_options(self, more: str) -> str:
        """Return the product's part of the configuration."""
        return f'jetstream {{ store_dir: "{self.folder}/jetstream"\n{more} }}'

    def connect(self) -> AbstractAsyncContextManager[Client]:
        """Connect a client with all rights."""
        return connect(self.address, **self._login)

    def received(self, destination: str = "") -> list[Arrival]:
        return self.use_streams(partial(stream.arrivals, subject=destination or self.destination))

    def clear(self) -> None:
        self.configure()
        self.use_streams(stream.replace_all)

    def stop(self) -> None:
        """See `Server`; core NATS's stream stores the confirmed messages first."""
        self._await_stored()
        super().stop()

    def kill(self) -> None:
        """See `Server`, and `stop`."""
        self._await_stored()
        super().kill()

    def _await_stored(self) -> None:
        if self.product == "core" and self.process.running:
            self.resume()
            self.use_streams(stream.await_stored)

    def check_ready(self) -> None:
        """Raise an error unless the server answers; create the stream if it is missing."""
        self.use_streams(stream.find_or_create)

    def use_streams(self, work: Callable[[JetStreamContext], Coroutine[Any, Any, T]]) -> T:
        """Return the result of work on the server's streams."""

        async def use() -> T:
            async with self.connect() as client:
                return await work(client.jetstream(timeout=60))

        return asyncio.run(use())


class StreamingServer(NatsServer):
    """Its `destination` is a channel."""

    program = "nats-streaming-server"

    def settings(self, **overrides: str) -> Settings:
        streaming = {
            "streaming": "on",
            "streaming_async": "on",
            "streaming_cluster_id": CLUSTER,
        }
        return super().settings(**{**streaming, **overrides})

    def product_options(self, more: str) -> str:
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
        channel = stan.status(self.ports["http"], f"channelsz?channel={subject}")
        async with self.connect() as client:
            session = await stan.Session.open(client, CLUSTER)
            bodies = await session.read(subject, channel["msgs"])
            await session.close()
        return [Arrival(body=body) for body in bodies]

    def clients(self) -> list[str]:
        """Return the names of the registered clients."""
        return list(stan.status(self.ports["http"], "clientsz").get("clients", ()))

    def clear(self) -> None:
        """See `Server`; a channel can only be deleted with the whole store."""
        self.configure()
        self.process.stop()
        shutil.rmtree(self.folder / "streaming")
        self.process.start()

    def check_ready(self) -> None:
        async def open_session() -> None:
            async with self.connect() as client:
                await (await stan.Session.open(client, CLUSTER)).close()

        asyncio.run(open_session())


def start(folder: Path, tls: Tls, *, product: str) -> NatsServer:
    """Start a product with its data in `folder`; see `servers.Module.start`."""
    kind = StreamingServer if product == "streaming" else NatsServer
    program = _PROGRAMS / kind.program / kind.program
    if not program.exists():
        raise MissingProgramError(kind.program)
    folder.mkdir(parents=True, exist_ok=True)
    server = kind(folder, tls, product)
    server.process = Process(
        [str(program), "-c", str(folder / "nats.conf")],
        folder,
        ready=server.check_ready,
        not_ready_yet=kind.refusals,
    )
    server.write_configuration()
    server.process.start()
    return server
