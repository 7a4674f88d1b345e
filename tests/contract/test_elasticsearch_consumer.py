"""The consumer in examples/ prints what a target writes."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.elasticsearch import Target
from tests import servers
from tests.contract import consumers
from tests.contract.consumers import Consumer, complaint, failure, words
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.elasticsearch import PASSWORD, USER, RefusedError, SearchServer

NODE = "index.routing.allocation.require._name"
NOWHERE = {
    "settings": {NODE: "no such node"},
    "mappings": {"properties": {"Records": {"properties": {"eventTime": {"type": "date"}}}}},
}
"""An index that no node takes, so that it has no shard to search."""


@pytest.fixture(params=servers.names("elasticsearch"))
def search(server: Callable[[str], Server], request: pytest.FixtureRequest) -> SearchServer:
    found = server(request.param)
    assert isinstance(found, SearchServer)
    return found


def consumer(search: SearchServer, password: str = PASSWORD) -> AbstractContextManager[Consumer]:
    where = search.settings()["url"], search.destination
    return consumers.consumer(
        "elasticsearch", *where, "--user", USER, ELASTICSEARCH_PASSWORD=password
    )


def test_the_consumer_follows_a_mirror(search: SearchServer) -> None:
    with Target(read(Target.Settings, search.settings())) as mirror:
        assert mirror.send([event("a é.jpg", 42)]) == {}
        search.ask("POST", "/events/_refresh")
        with consumer(search) as program:
            one = event("a é.jpg", 42)
            assert words(program) == [one.time, one.name, "uploads/a", "é.jpg", "42"]
            assert mirror.send([event("b", 43)]) == {}
            assert words(program)[2:] == ["uploads/b", "43"]
            assert mirror.send([event("b", 44, DELETE)]) == {}
            assert words(program) == ["gone", "uploads/b"]


def test_the_consumer_follows_a_log(search: SearchServer) -> None:
    with Target(read(Target.Settings, search.settings(format="access"))) as log:
        assert log.send([event("a", 42), event("a", 43, DELETE)]) == {}
        search.ask("POST", "/events/_refresh")
        with consumer(search) as program:
            assert words(program)[2:] == ["uploads/a", "42"]
            assert words(program)[1:] == [DELETE, "uploads/a", "-"]


def test_the_consumer_waits_for_the_index(search: SearchServer) -> None:
    with consumer(search) as program, Target(read(Target.Settings, search.settings())) as mirror:
        assert complaint(program) == "waiting for events\n"
        assert mirror.send([event("a", 42)]) == {}
        assert words(program)[2:] == ["uploads/a", "42"]


def test_the_consumer_waits_for_an_index_without_a_shard_to_search(search: SearchServer) -> None:
    search.ask("PUT", "/events?wait_for_active_shards=0", NOWHERE)
    with pytest.raises(RefusedError, match=r"^503: "):
        search.ask("POST", "/events/_search", {})
    with consumer(search) as program, Target(read(Target.Settings, search.settings())) as mirror:
        assert complaint(program) == "waiting for events\n"
        search.ask("PUT", "/events/_settings", {NODE: None})
        search.ask("GET", "/_cluster/health/events?wait_for_status=yellow")
        assert mirror.send([event("a", 42)]) == {}
        assert words(program)[2:] == ["uploads/a", "42"]


def test_a_refused_login_is_reported(search: SearchServer) -> None:
    with consumer(search, password="wr0ng-s3cret") as program:
        assert failure(program).startswith("cannot read events: HTTP Error 401")
