"""NATS in its three ways: core, JetStream, and the NATS Streaming that went before it.

Core NATS keeps nothing. So that tests can see what arrived, the stream `events` records all below
`ev.` for core too: a reader like any other, that is there whenever the server is.
"""

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

from nats import errors
from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig

from tests.servers import Arrival, Server, Settings
from tests.servers import nats_streaming as stan
from tests.servers.machine import MissingProgramError, ports
from tests.servers.nats_client import SECONDS, connected, connected_as
from tests.servers.process import Process
from tests.servers.tls import Tls

PRODUCTS = ("core", "jetstream", "streaming")
TOKEN = "t0ken-s3cret"
CLUSTER = "test-cluster"
STREAM = StreamConfig(name="events", subjects=["ev.>"])
BEHIND = "ev.behind"
"""Where a message is put to see that all before it is in the stream."""
LOGIN = f'authorization {{ token: "{TOKEN}" }}'

_PROGRAMS = Path(__file__).parents[2] / ".local" / "servers"
_CONFIGURATION = """\
include "changing.conf"
listen: "127.0.0.1:{nats}"
http: "127.0.0.1:{http}"
tls {{
  cert_file: "{cert}"
  key_file: "{key}"
  ca_file: "{ca}"
  verify: $VERIFY
  timeout: 5
}}
allow_non_tls: true
{own}
"""


class NatsServer(Server):
    """Its `place` is a subject. Plain and encrypted connections are taken at the same port."""

    kind = "nats"
    place = "ev.events"
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
        way = {"jetstream": "on"} if self.product == "jetstream" else {}
        return {
            "address": self.address,
            "subject": self.place,
            "token": TOKEN,
            **way,
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
        self.configure(verify=True)
        own = {
            "client_cert": self.tls.client_cert.read_text(),
            "client_key": self.tls.client_key.read_text(),
        }
        return self._tls_settings({**own, **overrides})

    def _tls_settings(self, overrides: dict[str, str]) -> Settings:
        verified = {"tls": "on", "cert_authority": self.tls.ca.read_text()}
        return self.settings(**{**verified, **overrides})

    def configure(self, *, login: str = LOGIN, verify: bool = False) -> None:
        """Let the server go on with this login; nothing if it has it already."""
        text = f"VERIFY: {str(verify).lower()}\n{login}\n"
        file = self.folder / "changing.conf"
        if not file.exists() or file.read_text() != text:
            file.touch(mode=0o600)
            file.write_text(text)
            if self.process.running:
                self.process.stop()
                self.process.start()

    @contextmanager
    def configured(self, login: str, **own: Any) -> Iterator[None]:
        """As `configure`, for as long; `own` is how nats-py logs in then, with all rights."""
        before, self._login = self._login, own or self._login
        try:
            self.configure(login=login)
            yield
        finally:
            self._login = before
            self.configure()

    def configuration(self) -> str:
        """What stays the same, for as long as the server runs."""
        return _CONFIGURATION.format(
            **self.ports,
            cert=self.tls.server_cert,
            key=self.tls.server_key,
            ca=self.tls.ca,
            own=self.own(),
        )

    def own(self) -> str:
        """The product's part of it."""
        return f'jetstream {{ store_dir: "{self.folder}/jetstream" }}'

    def connected(self) -> AbstractAsyncContextManager[Client]:
        """A client with all rights."""
        return connected(self.address, **self._login)

    def write(self, settings: Settings, key: str, body: bytes) -> None:  # noqa: ARG002 - no keys here
        async def write() -> None:
            async with connected_as(settings) as client:
                await client.jetstream(timeout=SECONDS).publish(settings["subject"], body)

        asyncio.run(write())

    def received(self, place: str = "") -> list[Arrival]:
        return asyncio.run(self._received(place or self.place))

    async def _received(self, subject: str) -> list[Arrival]:
        async with self.connected() as client:
            streams = client.jetstream(timeout=10)
            await streams.publish(BEHIND)
            state = (await streams.stream_info(STREAM.name or "", subjects_filter=subject)).state
            count = (state.subjects or {}).get(subject, 0)
            wanted = ConsumerConfig(ack_policy=AckPolicy.NONE)
            reader = await streams.pull_subscribe(subject, stream=STREAM.name, config=wanted)
            arrivals: list[Arrival] = []
            while len(arrivals) < count:
                found = await reader.fetch(min(500, count - len(arrivals)), timeout=10)
                arrivals += [Arrival(body=each.data, headers=each.headers or {}) for each in found]
            return arrivals

    def clear(self) -> None:
        self.configure()
        asyncio.run(self._cleared())

    async def _cleared(self) -> None:
        async with self.connected() as client:
            streams = client.jetstream(timeout=10)
            for each in await streams.streams_info():
                await streams.delete_stream(each.config.name or "")
            await streams.add_stream(STREAM)

    def stop(self) -> None:
        """See `Server`; what core NATS confirmed is in the stream, which is more than it says."""
        self._settle()
        super().stop()

    def kill(self) -> None:
        """See `Server`, and `stop`."""
        self._settle()
        super().kill()

    def _settle(self) -> None:
        async def settle() -> None:
            async with self.connected() as client:
                await client.jetstream(timeout=10).publish(BEHIND)

        if self.product == "core" and self.process.running:
            self.resume()
            asyncio.run(settle())

    def ready(self) -> None:
        """See that it answers; its stream is made where there is none."""

        async def ask() -> None:
            async with self.connected() as client:
                await client.jetstream(timeout=SECONDS).add_stream(STREAM)

        asyncio.run(ask())


class StreamingServer(NatsServer):
    """Its `place` is a channel."""

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

    def own(self) -> str:
        return f"""\
streaming {{
  cluster_id: "{CLUSTER}"
  store: file
  dir: "{self.folder}/streaming"
  token: "{TOKEN}"
}}"""

    def write(self, settings: Settings, key: str, body: bytes) -> None:  # noqa: ARG002 - no keys here
        async def write() -> None:
            async with connected_as(settings) as client:
                session = await stan.Session.open(client, CLUSTER)
                await session.publish(settings["subject"], body)
                await session.close()

        asyncio.run(write())

    async def _received(self, subject: str) -> list[Arrival]:
        if subject not in stan.status(self.ports["http"], "channelsz").get("names", ()):
            return []
        found = stan.status(self.ports["http"], f"channelsz?channel={subject}")
        async with self.connected() as client:
            session = await stan.Session.open(client, CLUSTER)
            bodies = await session.read(subject, found["msgs"])
            await session.close()
        return [Arrival(body=body) for body in bodies]

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
        (folder / "nats.conf").touch(mode=0o600)
        (folder / "nats.conf").write_text(server.configuration())
        server.configure()
    server.process.start()
    return server
