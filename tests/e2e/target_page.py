"""A page of `docs/targets`, with what differs on this machine.

The pages are about servers on their default ports. Here ports and logins are others; everything
else is typed as it is written.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.deployment import ROOT
from tests.servers import Server, elasticsearch, kafka, mqtt, nats, nsq, redis
from tests.servers.machine import ports

FOLDER = ROOT / "docs" / "targets"
_STEP = re.compile(r"^## \d\. ([^\n]+)\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
_BLOCK = r"^```{}\n(.*?)^```"
_VALUE = re.compile(r"type the value of .*?, such as `(.+?)`, then Enter and Ctrl-D")


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs here: texts, and further options of the target and of who reads from it."""

    texts: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)


class Page:
    """The steps of one kind's page; `server` is where its events go."""

    def __init__(self, kind: str, server: Server) -> None:
        page = (FOLDER / f"{kind}.md").read_text("utf-8")
        self.kind = kind
        self._different = _DIFFERENT[kind](server)
        for old, new in self._different.texts.items():
            assert old in page, f"{kind}: it does not say {old}"
            page = page.replace(old, new)
        self._steps = dict(_STEP.findall(page))

    def configuration(self) -> str:
        """The table of `bucketcast.toml`."""
        (table,) = _blocks(self._steps["Configure"], "toml")
        return table + "".join(f'{key} = "{to}"\n' for key, to in self._different.options.items())

    def commands(self, step: str) -> list[str]:
        """The lines that a step tells to type."""
        return "".join(_blocks(self._steps[step], "sh")).splitlines()

    def secret(self) -> str:
        """What to type when the secret is stored; empty where the page has none."""
        return "".join(_VALUE.findall(self._steps["Deploy"]))

    def variables(self) -> dict[str, str]:
        """The further options, as the consumer takes them from its environment."""
        options = self._different.options
        return {f"{self.kind}_{key}".upper(): value for key, value in options.items()}


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(_BLOCK.format(language), text, re.MULTILINE | re.DOTALL)


def _amqp(server: Any) -> Difference:
    return Difference({"amqp://myuser:mypassword@localhost:5672": server.url()})


def _elasticsearch(server: Any) -> Difference:
    login = {"username": elasticsearch.USER, "password": elasticsearch.PASSWORD}
    return Difference({"localhost:9200": server.address}, login)


def _kafka(server: Any) -> Difference:
    login = {"sasl": "on", "sasl_username": kafka.USER, "sasl_password": kafka.PASSWORD}
    return Difference({"localhost:9092": server.address}, login)


def _mqtt(server: Any) -> Difference:
    login = {"username": mqtt.OBSERVER, "password": mqtt.OBSERVER_PASSWORD}
    return Difference({"tcp://localhost:1883": server.url("tcp")}, login)


def _mysql(server: Any) -> Difference:
    return Difference({"user:password@tcp(localhost:3306)/minio_events": server.dsn()})


def _postgres(server: Any) -> Difference:
    written = (
        "host=localhost port=5432 dbname=minio_events user=postgres password=… sslmode=disable"
    )
    return Difference({written: server.settings()["connection_string"]})


def _secret(port: int, option: str, secret: str) -> Callable[[Any], Difference]:
    """Return the difference of a server that demands one secret, which the pages do not."""
    return lambda server: Difference({f"localhost:{port}": server.address}, {option: secret})


def _webhook(server: Any) -> Difference:
    """The consumer is the server of this kind, on a port of its own."""
    port = ports(server.process.folder / "consumer", "http")["http"]
    return Difference({"127.0.0.1:3000": f"127.0.0.1:{port}"})


_DIFFERENT: Mapping[str, Callable[[Any], Difference]] = {
    "amqp": _amqp,
    "elasticsearch": _elasticsearch,
    "kafka": _kafka,
    "mqtt": _mqtt,
    "mysql": _mysql,
    "nats": _secret(4222, "token", nats.TOKEN),
    "nsq": _secret(4150, "auth_secret", nsq.SECRET),
    "postgres": _postgres,
    "redis": _secret(6379, "password", redis.PASSWORD),
    "webhook": _webhook,
}
