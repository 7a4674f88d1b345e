"""A server of every kind behind one deployed stack, and what each has of a bucket's events.

Before each stands a relay, by which a test breaks connections.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.settings.options import options_of
from tests import servers
from tests.servers import Server, Settings
from tests.servers.kafka import KafkaServer
from tests.servers.link import Link, Links
from tests.servers.logins import login_of
from tests.servers.tls import Tls

ID = "ten"
CHOSEN = {"nats": "nats-jetstream", "elasticsearch": "elasticsearch-opensearch"}
"""The server of a kind that has several."""
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=port=)\d+")
"""Where a setting of a server says its port."""


class AllServers:
    """A running server of each kind, by kind; kinds that can mirror a bucket do.

    Targets reach them through the `links`, with the logins that can be changed.
    """

    def __init__(self, running: Mapping[str, Server], links: Mapping[str, Link]) -> None:
        self.running = running
        self.links = links
        self.secrets = {kind: login_of(kind).secret for kind in running}
        self.mirrors = [kind for kind in running if "format" in _options(kind)]
        self.logs = [kind for kind in running if kind not in self.mirrors]

    def targets(self) -> dict[str, dict[str, str]]:
        """The tables of bucketcast.toml by `<kind>.<id>`: all over TLS, the server verified."""
        form = {"format": "namespace"}
        return {
            f"{kind}.{ID}": {
                **_pointed(login_of(kind).of(_encrypted(server)), self.links[kind].port),
                **(form if kind in self.mirrors else {}),
            }
            for kind, server in self.running.items()
        }

    def change_login(self, kind: str, secret: str) -> None:
        """Change the secret of a kind's login at its server, and end the connections there."""
        if change := login_of(kind).change:
            change(self.running[kind], self.secrets[kind], secret)
            self.links[kind].sever()
            self.secrets[kind] = secret

    def restore_logins(self) -> None:
        """Change all logins back to what the servers started with."""
        for kind, secret in self.secrets.items():
            if secret != login_of(kind).secret:
                self.change_login(kind, login_of(kind).secret)

    def each(self, act: Callable[[Server], object]) -> None:
        """Do this with all servers at the same time."""
        with ThreadPoolExecutor(len(self.running)) as pool:
            list(pool.map(act, self.running.values()))


@contextmanager
def all_running(folder: Path, tls: Tls) -> Iterator[AllServers]:
    """Start all, and stop them in the end; raises what `servers.run` does."""
    names = {kind: CHOSEN.get(kind, kind) for kind in servers.kinds()}
    running: dict[str, Server] = {}
    links: dict[str, Link] = {}
    relays = Links()

    def begin(kind: str) -> None:
        running[kind] = server = servers.run(names[kind], folder / names[kind], tls)
        to, port = _port(_encrypted(server)), 0
        if isinstance(server, KafkaServer):
            to, port = server.ports["relayed"], server.ports["relay"]
        links[kind] = relays.open(folder / "links" / kind, to, port)
        server.clear()  # from then on what stands for its consumers listens

    with ThreadPoolExecutor(len(names)) as pool:
        begun = [pool.submit(begin, kind) for kind in names]
    try:
        for one in begun:
            one.result()
        yield AllServers(running, links)
    finally:
        relays.close()
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(Server.stop, running.values()))


def _encrypted(server: Server) -> Settings:
    return server.tls_settings(cert_authority=str(server.tls.ca))


def _port(settings: Settings) -> int:
    """The one port that these settings name."""
    (port,) = {found for text in settings.values() for found in _PORT.findall(text)}
    return int(port)


def _pointed(settings: Settings, port: int) -> Settings:
    return {name: _PORT.sub(str(port), text) for name, text in settings.items()}


def _options(kind: str) -> Any:
    declared: Any = targets.load(kind).Settings
    return options_of(declared)
