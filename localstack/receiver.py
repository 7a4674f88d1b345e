"""The demo's webhook receiver: `examples/consume.py webhook`, in the background.

Its output is read while it grows: an event has arrived when the receiver printed it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from bucketcast.config.model import Deployment
from bucketcast.config.target import TargetConfig
from bucketcast.settings.types import REFERENCE
from localstack import background, database, ports
from localstack.layout import ROOT, Failure

NAME = "demo-receiver"
SERVED_ID = "primary"
LOOPBACK = ("127.0.0.1", "localhost")
PROGRAM = ROOT / "examples" / "consume.py"
LISTENING_SECONDS = 120.0
POLL_SECONDS = 0.005
_LINE = re.compile(r"(?P<time>\S+)  +(?P<name>\S+)  +(?P<path>.+)  (?P<size>\S+)")


@dataclass(frozen=True, slots=True)
class Arrival:
    """One printed event; `latency` is the seconds from the event's own time to its line."""

    name: str
    path: str
    line: str
    latency: float


def served_targets(deployment: Deployment) -> Iterator[TargetConfig]:
    """Yield the webhook targets that the receiver can serve: a local `primary`, or the demo's own.

    All other webhooks have receivers of their own.
    """
    for target in deployment.targets:
        if target.kind == "webhook" and target.id in (SERVED_ID, database.ID):
            parts = urlsplit(target.settings["endpoint"])
            if parts.scheme == "http" and parts.hostname in LOOPBACK and parts.port:
                yield target


def own_variables() -> Mapping[str, str]:
    """Return MinIO's variables that make the demo's own webhook a target."""
    file = database.FOLDER / "receiver-port"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(ports.free()))
    endpoint = f"http://127.0.0.1:{file.read_text()}/events"
    return database.variables("webhook", endpoint=endpoint)


def start(target: TargetConfig) -> None:
    """Run the receiver at the target's endpoint; raise Failure if another program has its port."""
    port = urlsplit(target.settings["endpoint"]).port or 0
    if background.runs(NAME, str(port)):
        return
    if not ports.is_free(port):
        raise Failure(
            f"port {port} of [notify_webhook.{target.id}] is in use by {ports.holder(port)}: "
            "stop that program, or give the target another port. For a receiver of your own, add "
            "a table such as [notify_webhook.mine]"
        )
    command = [sys.executable, str(PROGRAM), "webhook", "--endpoint", target.settings["endpoint"]]
    variables = os.environ | {"WEBHOOK_AUTH_TOKEN": _token(target)}
    background.start(NAME, command, variables, str(port))
    background.wait_until(
        NAME, lambda: not ports.is_free(port), title="the receiver", within=LISTENING_SECONDS
    )


def _token(target: TargetConfig) -> str:
    reference = target.settings.get("auth_token", "")
    return target.plain_secrets.get(reference.removeprefix(REFERENCE), "")


class Output:
    """The lines that the receiver prints from now on."""

    def __init__(self) -> None:
        self._file = background.log(NAME).open(encoding="utf-8", errors="replace")
        self._file.seek(0, os.SEEK_END)
        self._partial_line = ""

    def arrivals(self, within: float) -> list[Arrival]:
        """Wait at most so many seconds for the next events; empty when none came."""
        deadline = time.monotonic() + within
        while True:
            text = self._partial_line + self._file.read()
            now = time.time()
            lines = text.split("\n")
            self._partial_line = lines.pop()
            arrivals = [arrival for line in lines if (arrival := _arrival(line, now))]
            if arrivals or time.monotonic() > deadline:
                return arrivals
            time.sleep(POLL_SECONDS)

    def close(self) -> None:
        self._file.close()


def _arrival(line: str, now: float) -> Arrival | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    happened = datetime.fromisoformat(match["time"]).timestamp()
    return Arrival(match["name"], match["path"], line, now - happened)
