"""The consumer in examples/ prints what a target writes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.elasticsearch import Target
from tests import servers
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.elasticsearch import PASSWORD, USER, RefusedError, SearchServer

NODE = "index.routing.allocation.require._name"
NOWHERE = {
    "settings": {NODE: "no such node"},
    "mappings": {"properties": {"Records": {"properties": {"eventTime": {"type": "date"}}}}},
}
"""An index that no node takes, so that it has no shard to search."""
SCRIPT = Path(__file__).parents[2] / "examples" / "consumers" / "elasticsearch.py"


@pytest.fixture(params=servers.names("elasticsearch"))
def search(server: Callable[[str], Server], request: pytest.FixtureRequest) -> SearchServer:
    found = server(request.param)
    assert isinstance(found, SearchServer)
    return found


@contextmanager
def consumer(search: SearchServer, password: str = PASSWORD) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SCRIPT), search.settings()["url"], search.destination]
    program = subprocess.Popen(
        [*command, "--user", USER],
        env={**os.environ, "ELASTICSEARCH_PASSWORD": password, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        try:
            yield program
        finally:
            program.terminate()


def said(program: subprocess.Popen[str]) -> list[str]:
    assert program.stdout is not None
    return program.stdout.readline().split()


def test_the_consumer_follows_a_mirror(search: SearchServer) -> None:
    with Target(read(Target.Settings, search.settings())) as mirror:
        assert mirror.send([event("a é.jpg", 42)]) == {}
        search.ask("POST", "/events/_refresh")
        with consumer(search) as program:
            one = event("a é.jpg", 42)
            assert said(program) == [one.time, one.name, "uploads/a", "é.jpg", "42"]
            assert mirror.send([event("b", 43)]) == {}
            assert said(program)[2:] == ["uploads/b", "43"]
            assert mirror.send([event("b", 44, DELETE)]) == {}
            assert said(program) == ["gone", "uploads/b"]


def test_the_consumer_follows_a_log(search: SearchServer) -> None:
    with Target(read(Target.Settings, search.settings(format="access"))) as log:
        assert log.send([event("a", 42), event("a", 43, DELETE)]) == {}
        search.ask("POST", "/events/_refresh")
        with consumer(search) as program:
            assert said(program)[2:] == ["uploads/a", "42"]
            assert said(program)[1:] == [DELETE, "uploads/a", "-"]


def test_the_consumer_waits_for_the_index(search: SearchServer) -> None:
    with consumer(search) as program:
        assert program.stderr is not None
        assert program.stderr.readline() == "waiting for events\n"
        with Target(read(Target.Settings, search.settings())) as mirror:
            assert mirror.send([event("a", 42)]) == {}
        assert said(program)[2:] == ["uploads/a", "42"]


def test_the_consumer_waits_for_an_index_without_a_shard_to_search(search: SearchServer) -> None:
    search.ask("PUT", "/events?wait_for_active_shards=0", NOWHERE)
    with pytest.raises(RefusedError, match=r"^503: "):
        search.ask("POST", "/events/_search", {})
    with consumer(search) as program:
        assert program.stderr is not None
        assert program.stderr.readline() == "waiting for events\n"
        search.ask("PUT", "/events/_settings", {NODE: None})
        search.ask("GET", "/_cluster/health/events?wait_for_status=yellow")
        with Target(read(Target.Settings, search.settings())) as mirror:
            assert mirror.send([event("a", 42)]) == {}
        assert said(program)[2:] == ["uploads/a", "42"]


def test_a_refused_login_is_reported(search: SearchServer) -> None:
    with consumer(search, password="wr0ng-s3cret") as program:
        assert program.stderr is not None
        assert program.stderr.readline().startswith("cannot read events: HTTP Error 401")
        assert program.wait(10) == 1
