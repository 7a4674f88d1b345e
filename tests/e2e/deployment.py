"""A system for the tests alone: its own emulator, port and folder, deployed as `make up` does."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.machine import ports
from tests.servers.postgres import PostgresServer
from tests.servers.redis import LIMITED_PASSWORD, LIMITED_USER, RedisServer
from tests.servers.webhook import WebhookServer

ROOT = Path(__file__).resolve().parents[2]
RECORDER = ROOT / "tests" / "e2e" / "recorder"
STACK = "Bucketcast"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
JSII_CACHE = CACHE / "aws" / "jsii" / "package-cache"
"""Where the CDK's library is unpacked, also for a test whose home is another."""
UP_SECONDS = 1_200.0
STOP_SECONDS = 600.0
"""Each function that ran has left thousands of files to be deleted, on a disk that may be busy."""


@dataclass(frozen=True, slots=True)
class Consumers:
    """The servers behind the targets; `flaky` is the webhook that tests make fail."""

    webhook: WebhookServer
    flaky: WebhookServer
    postgres: PostgresServer
    redis: RedisServer

    def targets(self) -> dict[str, dict[str, str]]:
        """The tables of bucketcast.toml by `<kind>.<id>`, as a user would write them."""
        ca = str(self.webhook.tls.ca)  # a path, which is what people have
        https = self.webhook.tls_settings(cert_authority=ca)
        verified = self.postgres.tls_settings(cert_authority=ca)
        limited = {"user": LIMITED_USER, "password": LIMITED_PASSWORD}
        encrypted = self.redis.tls_settings(cert_authority=ca, **limited)
        return {
            "webhook.primary": https,
            "webhook.flaky": self.flaky.settings(),
            "postgres.mirror": {**verified, "table": "mirror", "format": "namespace"},
            "redis.mirror": {**encrypted, "key": "ev:mirror", "format": "namespace"},
        }


BUCKETS = {
    "uploads": {"via": "sqs"},
    "crowded": {"via": "sqs"},
    # It is there before the deploy, with notifications of its own.
    "archive": {"create": "false", "via": "eventbridge"},
}
FEW = 2
"""Batches at once for a target: each is a process of the emulator, and they start all together."""


def write_configuration(
    file: Path,
    buckets: Mapping[str, Mapping[str, str]],
    targets: Mapping[str, Mapping[str, str]],
    dynamic: str = "off",
) -> None:
    """Write a bucketcast.toml: tables of buckets by name, and of targets by `<kind>.<id>`.

    `dynamic` are the kinds of dynamic targets: each costs a function, two queues and a client.
    """
    # The gateway runs as a process here, and its calls are judged by the rights of its functions.
    lines = ['object_facts = "on"', "[gateway]", 'function_url = "on"', "listen_concurrency = 12"]
    lines += ["listeners_per_user = 12", 'buckets = "*"']
    lines += ["[dynamic_targets]", f"kinds = '{dynamic}'"]
    for name, bucket in buckets.items():
        lines += [f"[bucket.{name}]", *_keys(bucket)]
    file.write_text("\n".join([*lines, *target_tables(targets)]) + "\n", encoding="utf-8")


def target_tables(targets: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of the tables of targets, which are given by `<kind>.<id>`."""
    lines = []
    for name, settings in targets.items():
        lines += [f"[notify_{name}]", *_keys(settings)]
        lines += [f"[notify_{name}.deploy]", f"max_concurrency = {FEW}"]
    return lines


def _keys(table: Mapping[str, str]) -> list[str]:
    return [
        f"{key} = {value if value in ('true', 'false') else _quoted(value)}"
        for key, value in table.items()
    ]


def _quoted(text: str) -> str:
    return "'''" + text + "'''"


def linked_checkout(folder: Path, *without: str) -> Path:
    """A folder with links to what is in the checkout, so that what is written stays out of it."""
    folder.mkdir()
    for each in ROOT.iterdir():
        if each.name not in (".git", *without):
            (folder / each.name).symlink_to(each)
    return folder


def succeed(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    given: str = "",
) -> str:
    """Run a command to its end, with this as its input; return what it printed."""
    ran = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=UP_SECONDS,
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout[-3_000:]}{ran.stderr[-4_000:]}"
    return ran.stdout


class Local:
    """`make up` and `make stop` with a folder and a port of the tests' own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        reserved = ports(folder, "ministack", "gateway")
        self.port, self.gateway_port = reserved["ministack"], reserved["gateway"]
        self.log = folder / "logs" / "ministack.log"
        self.env_file = folder / "env"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> Path:
        """Where the functions write down what they call."""
        return self.folder / "calls"

    def environment(self, **more: str) -> dict[str, str]:
        """The caller's, without what would lead to another AWS or change the configuration.

        Nor what `make` tells another `make` below it: a user's is below none.
        """
        foreign = (
            *("AWS_", "MINIO_", "BUCKETCAST_", "MINISTACK_", "LOCALSTACK_", "GATEWAY_"),
            *("MAKE", "MFLAGS"),
        )
        kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        own = {
            "BUCKETCAST_LOCAL": str(self.folder),
            "MINISTACK_PORT": str(self.port),
            "GATEWAY_PORT": str(self.gateway_port),
            "BUCKETCAST_RECORDER": str(RECORDER),
            "BUCKETCAST_CALLS": str(self.calls),
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(JSII_CACHE),
            # As for `make up`: the CDK's check against AWS's rules takes half of a synthesis.
            "CDK_VALIDATION": "false",
        }
        return kept | own | more

    def start_emulator(self) -> None:
        """Only the emulator, as `up` would start it first of all."""
        self._python("-c", "from localstack import emulator; emulator.ensure()")

    def up(self, config: Path, **variables: str) -> str:
        """Deploy; return what was printed. Its log's end is in what it prints when it fails."""
        return self._python("-m", "localstack.up", "--config", str(config), **variables)

    def stop(self) -> None:
        """End it, whatever state it is in."""
        subprocess.run(
            [sys.executable, "-m", "localstack.stop"],
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=STOP_SECONDS,
        )

    def exported(self) -> dict[str, str]:
        """What a shell has that read `.local/env`, and nothing else of AWS."""
        answer = subprocess.run(
            ["sh", "-c", 'set -a; . "$0"; set +a; env -0', str(self.env_file)],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        pairs = (line.partition("=") for line in answer.stdout.split("\0") if line)
        return {name: text for name, _, text in pairs}

    def log_tail(self, lines: int = 30) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(the emulator has no log)"

    def _python(self, *arguments: str, **variables: str) -> str:
        return succeed([sys.executable, *arguments], ROOT, self.environment(**variables))
