"""One stack with a target of four kinds: each holds what MinIO's guide says, whatever happens.

`make chaos` has all ten, and docs/targets' pages deploy all ten beside this.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.plan import plan
from tests.chaos.run import add_rules, prepare, run, shorten_visibility
from tests.e2e.all_servers import AllServers
from tests.e2e.deployment import Local, write_configuration
from tests.e2e.system import Deployed

BUCKET = "uploads"
KINDS = ("webhook", "kafka", "mqtt", "postgres")
"""One by request, two that keep a connection, and a mirror; one of them has poison."""
ONLINE_SECONDS = 600.0
CHAOS_EVENTS = 300
CHAOS_SEED = 1
CHAOS_SECONDS = 600.0
BACK_SECONDS = 15
"""After so long what a killed function had is seen again."""


@pytest.fixture
def some_servers(all_servers: AllServers) -> AllServers:
    return AllServers({kind: all_servers.running[kind] for kind in KINDS}, all_servers.links)


@pytest.fixture
def deployed(some_servers: AllServers, servers_folder: Path) -> Iterator[Deployed]:
    """`make up CONFIG=…` with one target of each kind, and a rule for each."""
    folder = servers_folder / "chaos"
    folder.mkdir()
    config = folder / "bucketcast.toml"
    write_configuration(config, {BUCKET: {"via": "sqs"}}, some_servers.targets())
    local = Local(folder / "local")
    try:
        local.up(config)
        made = Deployed(local, config, folder)
        assert made.targets.keys() == some_servers.targets().keys()
        add_rules(made, BUCKET)
        wait_until_online(made)
        yield made
        made.close()
    finally:
        local.stop()


def test_nothing_is_lost_and_no_row_is_wrong_while_everything_breaks(
    some_servers: AllServers, deployed: Deployed, prefix: str
) -> None:
    """`make chaos` in small."""
    prepare(deployed, some_servers)
    shorten_visibility(deployed, BACK_SECONDS)
    planned = plan(CHAOS_EVENTS, CHAOS_SEED, sorted(deployed.targets), together=5)
    try:
        result = run(planned, deployed, some_servers, (BUCKET, prefix), settle=CHAOS_SECONDS)
    finally:
        some_servers.restore_logins()
    assert (result.verdict.lost, result.verdict.wrong) == ({}, {})
    assert len(result.faults) == len(planned.faults)
    assert deployed.depths() == {}, "the poison was taken out, and there was nothing else"


def wait_until_online(deployed: Deployed) -> None:
    """Until `bucketcast target ls` says so of each target; each may have to start a function."""

    def offline() -> dict[str, str]:
        return {name: each["why"] for name, each in deployed.fares().items() if not each["online"]}

    deployed.until("each target online", offline, lambda seen: not seen, within=ONLINE_SECONDS)
