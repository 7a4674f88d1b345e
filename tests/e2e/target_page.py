"""A page of `docs/targets` and the consumer that it names, with what differs on this machine.

The pages are about servers on their default ports. Here ports and logins are others; everything
else is typed as it is written.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.deployment import ROOT
from tests.servers import Server, elasticsearch, kafka, mqtt, mysql, nats, nsq, postgres, redis
from tests.servers.machine import ports

FOLDER = ROOT / "docs" / "targets"
CONSUMERS = ROOT / "examples" / "consumers"
_STEP = re.compile(r"^## \d\. ([^\n]+)\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
_BLOCK = r"^```{}\n(.*?)^```"
_VALUE = re.compile(r"type the value of .*?, such as `(.+?)`, then Enter and Ctrl-D")
_COMMANDS = re.compile(r"^    (.+\n)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs here: texts, further options of the target, and the consumer's own login."""

    texts: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)
    arguments: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


class Page:
    """The steps of one kind's page; `server` is where its events go."""

    def __init__(self, kind: str, server: Server) -> None:
        consumer = ast.parse((CONSUMERS / f"{kind}.py").read_text("utf-8"))
        written = (FOLDER / f"{kind}.md").read_text("utf-8"), ast.get_docstring(consumer) or ""
        self.kind = kind
        self._different = _DIFFERENT[kind](server)
        for text in self._different.texts:
            assert any(text in each for each in written), f"{kind}: nothing says {text}"
        page, self._consumer = map(self._adapted, written)
        self._steps = dict(_STEP.findall(page))

    def _adapted(self, text: str) -> str:
        for old, new in self._different.texts.items():
            text = text.replace(old, new)
        return text

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

    def consumer(self) -> str:
        """The commands that run the consumer, as its first lines have them."""
        assert f"(../../examples/consumers/{self.kind}.py)" in self._steps["Run a consumer"]
        commands = "".join(_COMMANDS.findall(self._consumer)).rstrip()
        return f"{commands} {self._different.arguments}"

    @property
    def variables(self) -> Mapping[str, str]:
        """The consumer's login."""
        return self._different.variables


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(_BLOCK.format(language), text, re.MULTILINE | re.DOTALL)


def _amqp(server: Any) -> Difference:
    return Difference({"amqp://myuser:mypassword@localhost:5672": server.url()})


def _elasticsearch(server: Any) -> Difference:
    return Difference(
        {"localhost:9200": server.address},
        {"username": elasticsearch.USER, "password": elasticsearch.PASSWORD},
        f"--user {elasticsearch.USER}",
        {"ELASTICSEARCH_PASSWORD": elasticsearch.PASSWORD},
    )


def _kafka(server: Any) -> Difference:
    return Difference(
        {"localhost:9092": server.address},
        {"sasl": "on", "sasl_username": kafka.USER, "sasl_password": kafka.PASSWORD},
        variables={"KAFKA_USERNAME": kafka.USER, "KAFKA_PASSWORD": kafka.PASSWORD},
    )


def _mqtt(server: Any) -> Difference:
    port = server.ports["tcp"]
    return Difference(
        {"localhost:1883": f"127.0.0.1:{port}", "mqtt.py localhost": "mqtt.py 127.0.0.1"},
        {"username": mqtt.OBSERVER, "password": mqtt.OBSERVER_PASSWORD},
        f"--port {port} --user {mqtt.OBSERVER}",
        {"MQTT_PASSWORD": mqtt.OBSERVER_PASSWORD},
    )


def _mysql(server: Any) -> Difference:
    return Difference(
        {
            "user:password@tcp(localhost:3306)/minio_events": server.dsn(),
            "MYSQL_USER=user MYSQL_PWD=password": (
                f"MYSQL_USER={mysql.USER} MYSQL_PWD={mysql.PASSWORD}"
            ),
            "localhost:3306 minio_events": f"{server.address} {mysql.DATABASE}",
        }
    )


def _postgres(server: Any) -> Difference:
    login = server.settings()["connection_string"]
    return Difference(
        {
            "host=localhost port=5432 dbname=minio_events user=postgres password=…"
            " sslmode=disable": login,
            "PGUSER=postgres PGPASSWORD=…": (
                f"PGUSER={postgres.USER} PGPASSWORD={postgres.PASSWORD}"
            ),
            "host=localhost dbname=minio_events": (
                f"host=127.0.0.1 port={server.port} dbname={postgres.DATABASE}"
            ),
        }
    )


def _secret(port: int, option: str, variable: str, secret: str) -> Callable[[Any], Difference]:
    """Return the difference of a server that demands one secret, which the pages do not."""
    return lambda server: Difference(
        {f"localhost:{port}": server.address}, {option: secret}, variables={variable: secret}
    )


def _webhook(server: Any) -> Difference:
    """The consumer is the server of this kind, on a port of its own."""
    port = ports(server.process.folder / "consumer", "http")["http"]
    return Difference({"127.0.0.1:3000": f"127.0.0.1:{port}", "--port 3000": f"--port {port}"})


_DIFFERENT: Mapping[str, Callable[[Any], Difference]] = {
    "amqp": _amqp,
    "elasticsearch": _elasticsearch,
    "kafka": _kafka,
    "mqtt": _mqtt,
    "mysql": _mysql,
    "nats": _secret(4222, "token", "NATS_TOKEN", nats.TOKEN),
    "nsq": _secret(4150, "auth_secret", "NSQ_AUTH_SECRET", nsq.SECRET),
    "postgres": _postgres,
    "redis": _secret(6379, "password", "REDISCLI_AUTH", redis.PASSWORD),
    "webhook": _webhook,
}
