"""`docs/targets`: the steps of every page as they are written, in one deployment of all kinds.

Each consumer runs before the first event, so that it has to wait for what the target makes.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.all_servers import AllServers
from tests.e2e.deployment import ROOT, Local, linked_checkout, succeed
from tests.e2e.target_page import Page
from tests.servers.kafka import KafkaServer

COMMANDS = "Deploy", "Add a rule"
WAITING = re.compile("waiting for ")
PRINTED = re.compile(r"s3:ObjectCreated:Put +uploads/photo\.jpg +5605$", re.MULTILINE)
SECONDS = 600.0


class Terminal:
    """A shell in the checkout, in which each command finds what those before it exported."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)

    def type(self, command: str, then: str = "") -> str:
        """Run it to its end, with `then` as its input; return what it printed."""
        exported = self.folder / "exported"
        script = f"{command}\nenv -0 > {exported}"
        found = succeed(["bash", "-ec", script], self.folder, self.environment, then)
        pairs = (line.partition("=") for line in exported.read_text().split("\0") if line)
        self.environment = {name: text for name, _, text in pairs}
        return found

    def start(self, commands: str, log: Path, variables: Mapping[str, str]) -> "Running":
        """Run them in the background, with a log of all that they print."""
        with log.open("wb") as output:
            program = subprocess.Popen(
                ["bash", "-ec", commands],
                cwd=self.folder,
                env=self.environment | dict(variables),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Running(program, log)


class Running:
    """A consumer that runs in the background, and what it has printed."""

    def __init__(self, program: subprocess.Popen[bytes], log: Path) -> None:
        self._program = program
        self._log = log

    def wait_for(self, text: re.Pattern[str]) -> None:
        """Wait until it has printed a line with this."""
        deadline = time.monotonic() + SECONDS
        while not text.search(self._log.read_text("utf-8")):
            late = time.monotonic() > deadline
            if late or self._program.poll() is not None:
                pytest.fail(f"{self._log.name} printed no {text.pattern}:\n{self._log.read_text()}")
            time.sleep(0.05)

    def end(self) -> None:
        """Interrupt it, with all that it has started."""
        with self._program:
            if self._program.poll() is None:
                os.killpg(self._program.pid, signal.SIGINT)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return linked_checkout(tmp_path / "checkout", ".local", "bucketcast.toml")


@pytest.fixture
def alone(checkout: Path) -> Iterator[Local]:
    """A local AWS with nothing in it, whose state is where the pages look for it."""
    local = Local(checkout / ".local")
    yield local
    local.stop()


def test_each_page_leads_to_a_printed_event(
    all_servers: AllServers, alone: Local, checkout: Path, tmp_path: Path
) -> None:
    pages = [Page(kind, server) for kind, server in all_servers.running.items()]
    config = checkout / "bucketcast.toml"
    config.write_text(_configuration(pages), encoding="utf-8")
    programs = os.pathsep.join((os.environ["PATH"], str(ROOT / ".local/aws-cli-venv/bin")))
    terminal = Terminal(checkout, alone.environment(CONFIG=str(config), PATH=programs))
    typed = set()
    for step in COMMANDS:
        for page in pages:
            for command in page.commands(step):
                if command not in typed:
                    terminal.type(command, page.secret())
                    typed.add(command)
    with ExitStack() as ends:
        consumers = []
        for page in pages:
            commands = "\n".join(page.commands("Run a consumer"))
            running = terminal.start(commands, tmp_path / page.kind, page.variables())
            ends.callback(running.end)
            consumers.append(running)
        for each in consumers:
            each.wait_for(WAITING)
        kafka = all_servers.running["kafka"]
        assert isinstance(kafka, KafkaServer)
        kafka.create_topic("bucketevents")  # as brokers do that create topics themselves
        (steps,) = {tuple(page.commands("See the event")) for page in pages}
        copy, show = steps
        terminal.type(copy)
        for each in consumers:
            each.wait_for(PRINTED)
        deadline = time.monotonic() + SECONDS
        wanted = {f"{page.kind}:primary" for page in pages}
        # Each target may have to start a function, to which a busy machine takes its time.
        while online(rows := terminal.type(show)) != wanted:
            assert time.monotonic() < deadline, rows


def online(rows: str) -> set[str]:
    """Return the targets that `bucketcast target ls` shows as online."""
    return {row.split()[0] for row in rows.splitlines() if "  online  " in row}


def _configuration(pages: list[Page]) -> str:
    """Return the checkout's configuration with the pages' tables in place of its targets.

    Without dynamic targets, of which the pages say nothing: they would be ten functions more.
    """
    ours = (ROOT / "bucketcast.toml").read_text("utf-8")
    kept = re.sub(r"^\[notify_.*?\n(?=\[|#|\Z)", "", ours, flags=re.MULTILINE | re.DOTALL)
    dynamic = "[dynamic_targets]\nkinds = 'off'"
    return "\n".join([kept, dynamic, *(page.configuration() for page in pages)])
