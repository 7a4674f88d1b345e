"""The real servers that tests, demo and benchmarks deliver to: a module a kind, with `start`.

A kind's module is its proof: the contract tests run for each module here that has a `start`.
Programs come from `tests/servers/install`; a missing one is a failure, never a skip.
"""

import ast
import importlib
import ssl
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from tests.servers.process import Process
from tests.servers.tls import Tls
from tests.waiting import last_seen

Settings = dict[str, str]
"""What stands under `[notify_<kind>.<id>]`: MinIO's keys and their text."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One event as its consumer finds it.

    `body` is exactly what was written; where the product keeps JSON parsed (PostgreSQL's JSONB) it
    is what the product prints. `key` is the row's key or the hash's field; empty where the product
    has none. `time` is the text of the time beside the event: PostgreSQL's `event_time` in UTC, a
    webhook's time of arrival, both ISO 8601; else empty.
    """

    body: bytes
    key: str = ""
    time: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Server(ABC):
    """A running server, with how to reach it and what has arrived there.

    The settings are those of a Bucketcast target. `destination` is where its events go: a table,
    a key, a topic or a path.
    """

    kind: str
    destination: str
    keeps_what_it_confirmed = True
    """Whether what it confirmed outlives it, rather than to be handed on to who listens."""
    password_option: str
    """The kind's name for the secret of a login, where it is an option of its own."""
    client_options: tuple[str, str] = ("client_cert", "client_key")
    """The kind's names for a client's certificate and its key."""

    def __init__(self, process: Process, tls: Tls, port: int) -> None:
        """`port` is that of the plain connection."""
        self.process = process
        self.tls = tls
        self.port = port

    @property
    def address(self) -> str:
        """`host:port` of the plain connection."""
        return f"127.0.0.1:{self.port}"

    @abstractmethod
    def settings(self, **overrides: str) -> Settings:
        """With the right login, over a plain connection."""

    def wrong_password_settings(self, **overrides: str) -> Settings:
        """As `settings`, with a login that is refused."""
        return self.settings(**{self.password_option: "wr0ng-s3cret", **overrides})

    @abstractmethod
    def encrypted(self, *, demanding: bool) -> Settings:
        """What leads to TLS, in place of the plain connection's.

        There the server demands a client certificate of its authority if it is to be `demanding`.
        """

    def tls_settings(self, **overrides: str) -> Settings:
        """With the right login, over TLS, the server's certificate and name verified."""
        return self._over_tls(self.encrypted(demanding=False) | overrides)

    def mtls_settings(self, **overrides: str) -> Settings:
        """As `tls_settings`, where the server demands a client certificate of its authority."""
        return self._over_tls(self.encrypted(demanding=True) | self.certificate | overrides)

    def _over_tls(self, own: Settings) -> Settings:
        return self.settings(**{"cert_authority": self.tls.ca.read_text(), **own})

    @property
    def certificate(self) -> Settings:
        """The certificate of a client of the servers' authority, with its key."""
        return self.as_client(self.tls.client_cert.read_text(), self.tls.client_key.read_text())

    def as_client(self, cert: str, key: str) -> Settings:
        """What to give to `mtls_settings` to show another client's certificate, or none."""
        return dict(zip(self.client_options, (cert, key), strict=True))

    def write(self, key: str, body: bytes) -> None:
        """Replace what the row of this key holds; only kinds with rows can."""
        raise NotImplementedError

    @abstractmethod
    def received(self, destination: str = "") -> list[Arrival]:
        """Return what is at `destination`, by default its own: by key, else in order of arrival."""

    @abstractmethod
    def clear(self) -> None:
        """Make the running server as new: nothing arrived, no table, no answer ordered."""

    def stop(self) -> None:
        """End it in order; what arrived is kept."""
        self.process.stop()

    def start_again(self) -> None:
        """Start it on the same ports and data; nothing if it runs."""
        self.process.start()

    def show_certificate(self) -> None:
        """Show what the files of `tls` have now to whoever connects."""
        self.stop()
        self.start_again()

    def wait_until_shown(self, port: int) -> None:
        """Wait until a port for TLS shows the certificate, for at most a minute."""
        wanted = self.tls.server_cert.read_text().strip()

        def shown() -> str:
            with suppress(OSError):  # it may reject who has no certificate
                return ssl.get_server_certificate(("127.0.0.1", port), timeout=10).strip()
            return ""

        assert last_seen(shown, lambda seen: seen == wanted, within=60) == wanted

    def kill(self) -> None:
        """End it as `kill -9` does, with all it started."""
        self.process.kill()

    def pause(self) -> None:
        """It still accepts connections and answers nothing, until `resume`."""
        self.process.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self.process.resume()


class Module(Protocol):
    """What a kind's module offers; with several `PRODUCTS`, its `start` takes one of them."""

    def start(self, folder: Path, tls: Tls, **product: str) -> Server:
        """Start the server with its data in `folder`.

        It ends with the calling program. Raises `machine.MissingProgramError`,
        `process.StartError`.
        """


def kinds() -> list[str]:
    """The kinds there is a server for, sorted: the modules here that define `start`."""
    return sorted(file.stem for file in Path(__file__).parent.glob("*.py") if _has_start(file))


def load(kind: str) -> Module:
    """The module of `kind`, with the client library it needs."""
    return cast("Module", importlib.import_module(f"{__name__}.{kind}"))


def names(kind: str) -> list[str]:
    """The servers of a kind: its own name, or `<kind>-<product>` for each of its `PRODUCTS`.

    A kind has several where one client serves several products, or several ways of one.
    """
    return [f"{kind}-{product}" for product in _products(kind)] or [kind]


def run(name: str, folder: Path, tls: Tls) -> Server:
    """Start the server of that name; see `Module.start`."""
    kind, _, product = name.partition("-")
    more: dict[str, Any] = {"product": product} if product else {}
    return load(kind).start(folder, tls, **more)


# Read, not imported: where one kind is tested alone, no other's client is there.


def _has_start(file: Path) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == "start" for each in _body(file))


def _products(kind: str) -> tuple[str, ...]:
    for each in _body(Path(__file__).with_name(f"{kind}.py")):
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "PRODUCTS":
            return tuple(ast.literal_eval(each.value))
    return ()


def _body(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text(encoding="utf-8")).body
