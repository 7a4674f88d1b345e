"""`docs/targets`: the steps of every page as they are written, in one deployment of all kinds.

Each consumer runs before the first event, so that it has to wait for what the target makes.

The same stack has a second target of four kinds: each holds what MinIO's guide says, whatever
happens. `make chaos` has all ten.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import pytest

from tests.chaos.plan import plan
from tests.chaos.run import add_rules, prepare, run, shorten_visibility
from tests.e2e.all_servers import ID, AllServers, all_running
from tests.e2e.deployment import ROOT, Local, linked_checkout, succeed, target_tables
from tests.e2e.system import Deployed
from tests.e2e.target_page import Page
from tests.servers.kafka import KafkaServer
from tests.servers.machine import MissingProgramError
from tests.servers.tls import Tls
from tests.waiting import last_seen

WAITING = re.compile("waiting for ")
PRINTED = re.compile(r"s3:ObjectCreated:Put +uploads/photo\.jpg +5605$", re.MULTILINE)
SECONDS = 600.0
BUCKET = "uploads"
CHAOS_KINDS = ("webhook", "kafka", "mqtt", "postgres")
"""One by request, two that keep a connection, and a mirror; one of them has poison."""
CHAOS_EVENTS = 300
CHAOS_SEED = 1
BACK_SECONDS = 15
"""After so long what a killed function had is seen again."""


class Terminal:
    """A shell in the checkout, in which each command finds what those before it exported."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._typed: set[str] = set()

    def follow(self, pages: list[Page], step: str) -> None:
        """Type the commands of a step of each page, those that several have only once."""
        for page in pages:
            for command in page.commands(step):
                if command not in self._typed:
                    self.type(command, page.secret())
                    self._typed.add(command)

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
        printed = last_seen(
            lambda: self._log.read_text("utf-8"),
            lambda seen: text.search(seen) or self._program.poll() is not None,
            within=SECONDS,
        )
        assert text.search(printed), f"{self._log.name} printed no {text.pattern}:\n{printed}"

    def end(self) -> None:
        """Interrupt it, with all that it has started."""
        with self._program:
            if self._program.poll() is None:
                os.killpg(self._program.pid, signal.SIGINT)


class OfChaos(Deployed):
    """The stack, with those of its targets that everything breaks around."""

    @cached_property
    def targets(self) -> dict[str, dict[str, str]]:
        return {name: each for name, each in super().targets.items() if name.endswith(f".{ID}")}


@pytest.fixture(scope="module")
def all_servers(servers_folder: Path, tls: Tls) -> Iterator[AllServers]:
    """A server of each kind."""
    try:
        with all_running(servers_folder / "ten", tls) as running:
            yield running
    except MissingProgramError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="module")
def some_servers(all_servers: AllServers) -> AllServers:
    return AllServers({kind: all_servers.running[kind] for kind in CHAOS_KINDS}, all_servers.links)


@pytest.fixture(scope="module")
def pages(all_servers: AllServers) -> list[Page]:
    return [Page(kind, server) for kind, server in all_servers.running.items()]


@pytest.fixture(scope="module")
def local(servers_folder: Path) -> Iterator[Local]:
    """A local AWS with nothing in it, whose state is where the pages look for it."""
    checkout = linked_checkout(servers_folder / "checkout", ".local", "bucketcast.toml")
    local = Local(checkout / ".local")
    yield local
    local.stop()


@pytest.fixture(scope="module")
def terminal(pages: list[Page], some_servers: AllServers, local: Local) -> Terminal:
    """Where the stack was deployed, as each page says it."""
    checkout = local.folder.parent
    config = checkout / "bucketcast.toml"
    config.write_text(_configuration(pages, some_servers), encoding="utf-8")
    programs = os.pathsep.join((os.environ["PATH"], str(ROOT / ".local/aws-cli-venv/bin")))
    terminal = Terminal(checkout, local.environment(CONFIG=str(config), PATH=programs))
    terminal.follow(pages, "Deploy")
    return terminal


def test_each_page_leads_to_a_printed_event(
    all_servers: AllServers, pages: list[Page], terminal: Terminal, tmp_path: Path
) -> None:
    terminal.follow(pages, "Add a rule")
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
        wanted = {f"{page.kind}:primary" for page in pages}
        # Each target may have to start a function, to which a busy machine takes its time.
        rows = last_seen(
            lambda: terminal.type(show), lambda rows: wanted <= online(rows), within=SECONDS
        )
        assert wanted <= online(rows), rows


def online(rows: str) -> set[str]:
    """Return the targets that `bucketcast target ls` shows as online."""
    return {row.split()[0] for row in rows.splitlines() if "  online  " in row}


def test_nothing_is_lost_and_no_row_is_wrong_while_everything_breaks(
    some_servers: AllServers, terminal: Terminal, local: Local, prefix: str
) -> None:
    """`make chaos` in small."""
    deployed = OfChaos(local, terminal.folder / "bucketcast.toml", terminal.folder)
    assert deployed.targets.keys() == some_servers.targets().keys()
    add_rules(deployed, BUCKET)  # in place of the pages' rules
    prepare(deployed, some_servers)
    shorten_visibility(deployed, BACK_SECONDS)
    planned = plan(CHAOS_EVENTS, CHAOS_SEED, sorted(deployed.targets), together=5)
    try:
        result = run(planned, deployed, some_servers, (BUCKET, prefix), settle=SECONDS)
    finally:
        some_servers.restore_logins()
    assert (result.verdict.lost, result.verdict.wrong) == ({}, {})
    assert len(result.faults) == len(planned.faults)
    assert deployed.depths() == {}, "the poison was taken out, and there was nothing else"
    deployed.close()


def _configuration(pages: list[Page], others: AllServers) -> str:
    """Return the checkout's configuration with the pages' tables and others for its targets.

    Without dynamic targets, of which the pages say nothing: they would be ten functions more.
    """
    ours = (ROOT / "bucketcast.toml").read_text("utf-8")
    kept = re.sub(r"^\[notify_.*?\n(?=\[|#|\Z)", "", ours, flags=re.MULTILINE | re.DOTALL)
    dynamic = "[dynamic_targets]\nkinds = 'off'"
    tables = [*(page.configuration() for page in pages), *target_tables(others.targets())]
    return "\n".join([kept, dynamic, *tables])
