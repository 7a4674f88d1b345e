"""Behaviour that only Elasticsearch and OpenSearch have."""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import msgspec
import pytest

from bucketcast.errors import NotAuthorized, Retryable, Throttled
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.shapes import minio
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.elasticsearch import Target, state
from bucketcast.targets.elasticsearch.index import Names, check_writable
from tests import servers
from tests.contract.case import DAY, DELETE, event, events, record_of, tagged
from tests.contract.diagnoses import fault, findings
from tests.contract.mirrors import rows
from tests.contract.target_factory import running, target_factory
from tests.servers.elasticsearch import API_KEY, PASSWORD, USER, RefusedError, SearchServer
from tests.unit.samples import kinds_of
from tests.waiting import last_seen

GUARD = "events-guard"


Make = Callable[..., Target]
search = running(*servers.names("elasticsearch"))


@pytest.fixture
def make(search: SearchServer) -> Iterator[Make]:
    with target_factory(Target, search.settings) as make:
        yield make


# Login and connection


def test_an_api_key_is_a_login(search: SearchServer, make: Make) -> None:
    assert make(search.api_key_settings()).send(events(2)) == {}
    with pytest.raises(NotAuthorized, match="api_key"):
        make(search.api_key_settings(api_key="another-s3cret")).send(events(2))
    encoded = "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyLXMzY3JldA=="
    assert make(search.api_key_settings(api_key=encoded)).send(events(3)) == {}
    assert API_KEY.count(":") == 1
    assert len(search.received()) == 3


def test_a_login_in_the_url_wins(search: SearchServer, make: Make) -> None:
    url = f"http://{USER}:{PASSWORD.replace('-', '%2D')}@{search.address}"
    for login in ({}, {"username": "mallory", "password": "wr0ng-s3cret"}):
        target = make({"url": url, "index": "events", **login})
        assert target.send(events(2)) == {}
        assert PASSWORD not in target.where
    wrong = make(search.settings(url=f"http://{USER}:wr0ng-s3cret@{search.address}"))
    with pytest.raises(NotAuthorized):
        wrong.send(events(2))


def test_a_path_in_the_url_is_kept(search: SearchServer, make: Make) -> None:
    assert make(url=f"http://{search.address}/below/").send(events(2)) == {}
    assert len(search.received()) == 2


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_another_kind_of_server_is_reported(search: SearchServer, make: Make, form: str) -> None:
    with pytest.raises(Retryable, match="on Elasticsearch or OpenSearch: see url"):
        make(url=f"http://{search.address}/page", format=form).send(events(1))
    with pytest.raises(Retryable, match=r"set url to https://elsewhere\.example/"):
        make(url=f"http://{search.address}/moved", format=form).send(events(1))


def test_foreign_json_is_not_taken_for_an_empty_index(search: SearchServer, make: Make) -> None:
    target, names = make(url=f"http://{search.address}/json"), Names(GUARD, "events")
    stored = state.read_rows(target._requests, names, '{"id":0,"max":1}', "", 30.0)
    with pytest.raises(Retryable, match=r"to _search is not Elasticsearch's .*: see url"):
        list(stored)
    with pytest.raises(Retryable, match=r"to _settings is not Elasticsearch's .*: see url"):
        check_writable(target._requests(), names, "access")


def test_an_index_with_missing_shards_is_not_read(search: SearchServer, make: Make) -> None:
    """The server answers with status 200 for the shards that it has."""
    one_of_two = {"index.number_of_shards": 2, "index.routing.allocation.total_shards_per_node": 1}
    search.request("PUT", "/events?wait_for_active_shards=0", {"settings": one_of_two})
    search.request("GET", "/_cluster/health/events?wait_for_active_shards=1")
    names = Names(GUARD, "events")
    rows = state.read_rows(make()._requests, names, '{"id":0,"max":1}', "", 30.0)
    with pytest.raises(Retryable, match=r"^only 1 of 2 shards could be searched: see the "):
        list(rows)


# Documents


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_the_index_can_be_searched_by_time_and_whole_key(
    search: SearchServer, make: Make, form: str
) -> None:
    key = "photos/" + "k" * 900
    assert make(format=form).send([event("a", 1), event(key, 90_000)]) == {}
    search.request("POST", "/events/_refresh")
    for query in (
        {"range": {"@timestamp": {"gte": f"{DAY}T03:01:00Z"}}},
        {"term": {"Records.s3.object.key.keyword": quote(key, safe="")}},
    ):
        hits = search.request("POST", "/events/_search", {"query": query})["hits"]["hits"]
        assert [hit["_source"]["Records"][0]["s3"]["object"]["size"] for hit in hits] == [90_000]


@pytest.mark.parametrize("shape", ["aws", "ceph", "cloudevents"])
def test_every_shape_can_be_searched_by_time(search: SearchServer, make: Make, shape: str) -> None:
    event_ = event("a", 61_003)
    original = (
        b'{"eventTime":\n"%b",\r\n "s3": {"object": {"key": "2026-01-02"}}}' % event_.time.encode()
    )
    batch = [msgspec.structs.replace(event_, stored=msgspec.Raw(original)), event_]
    target = make(format="access", shape=shape)
    assert target.send(batch if shape == "aws" else batch[1:]) == {}
    arrivals = search.received()
    assert arrivals[0].time == event_.time
    bodies = [msgspec.json.decode(target.body(event_)) for event_ in batch]
    assert msgspec.json.decode(arrivals[0].body) == bodies[0 if shape == "aws" else 1]


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_a_key_like_a_date_does_not_make_other_keys_dates(
    search: SearchServer, make: Make, form: str
) -> None:
    target = make(format=form)
    assert target.send([event("2026-01-02", etag="2026-01-02")]) == {}
    assert target.send([event("no date", etag="none")]) == {}
    assert len(search.received()) == 2


def test_ids_are_paths_or_hashes_of_long_ones(search: SearchServer, make: Make) -> None:
    keys = ["a b/c", "k" * 504, "k" * 505, "k" * 1024]
    target = make()
    assert target.send([event(key, at) for at, key in enumerate(keys, 1)]) == {}
    search.request("POST", "/events/_refresh")
    hits = search.request("POST", "/events/_search")["hits"]["hits"]
    ids = {hit["_source"]["Records"][0]["s3"]["object"]["size"]: hit["_id"] for hit in hits}
    assert ids[1], ids[2] == (f"uploads/{keys[0]}", f"uploads/{keys[1]}")
    assert [len(ids[at]) for at in (3, 4)] == [64, 64]
    assert target.send([event(key, 9, DELETE) for key in keys]) == {}
    assert search.received() == []


def test_an_index_with_ids_hashed_by_minio_is_refused(search: SearchServer, make: Make) -> None:
    body = msgspec.json.decode(minio.records(event("a", 5)))
    search.request("PUT", f"/events/_doc/{'x' * 43}=?refresh=true", body)
    with pytest.raises(Retryable, match="or index to another name"):
        make().send([event("a", 7)])


def test_an_index_with_plain_ids_is_used(search: SearchServer, make: Make) -> None:
    for key in ("a", "b", "c"):
        body = msgspec.json.decode(minio.records(event(key, 5)))
        search.request("PUT", f"/events/_doc/uploads%2F{key}?refresh=true", body)
    assert make().send([event("a", 7), event("b", 3), event("c", 6, DELETE)]) == {}
    assert make().send([event("c", 5)]) == {}
    assert sorted(sizes(search)) == [5, 7]
    with pytest.raises(Retryable, match="format namespace: set format to it, or index to another"):
        make(format="access").send(events(1))


def test_a_foreign_index_is_no_mirror(search: SearchServer, make: Make) -> None:
    search.request("POST", "/events/_doc?refresh=true", {"any": "thing"})
    for call in (make().probe, lambda: make().send(events(1))):
        with pytest.raises(Retryable, match="index to another name"):
            call()
    assert make(format="access").send(events(2)) == {}
    assert search.request("GET", "/_cat/indices/events-*?format=json") == []


def test_a_foreign_document_with_an_objects_id_is_replaced(
    search: SearchServer, make: Make
) -> None:
    search.request("PUT", "/events/_doc/uploads%2Fa?refresh=true", {"any": "thing"})
    assert make().send([event("a", 3)]) == {}
    assert sizes(search) == [3]


def test_an_alias_must_be_of_one_index(search: SearchServer, make: Make) -> None:
    search.request("PUT", "/events-1", {"aliases": {"events": {}}})
    assert make().send([event("a", 1), event("b", 2), event("a", 3, DELETE)]) == {}
    assert sizes(search) == [2]
    search.request("PUT", "/events-2", {"aliases": {"events": {}}})
    with pytest.raises(Retryable, match="has to be an index, or an alias of one"):
        make().send([event("c", 1)])


def sizes(search: SearchServer) -> list[int]:
    return [record_of(arrival.body)["s3"]["object"]["size"] for arrival in search.received()]


# Refusals of the server


def test_names_that_users_choose_are_searched_and_are_no_fields(
    search: SearchServer, make: Make
) -> None:
    sent = [
        event(
            f"k{number}",
            number,
            metadata={f"X-Amz-Meta-N{number}-{each}": f"v{each}" for each in range(20)},
        )
        for number in range(1, 61)
    ]
    assert make(search.settings(format="access")).send(sent) == {}
    search.request("POST", "/events/_refresh")
    field = "Records.s3.object.userMetadata"
    for named in (field, f"{field}.X-Amz-Meta-N7-3"):
        query = {"query": {"term": {named: "v3"}}}
        found = search.request("POST", "/events/_count", query)["count"]
        assert found == (60 if named == field else 1)


def test_an_index_with_too_many_fields_is_tried_again(search: SearchServer, make: Make) -> None:
    full = {"settings": {"index.mapping.total_fields.limit": 5}}
    search.request("PUT", "/events", full)
    failures = make(search.settings(format="access")).send(events(2))
    assert {type(error) for error in failures.values()} == {Retryable}, failures


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_an_event_that_does_not_fit_the_mapping_waits_alone(
    search: SearchServer, make: Make, form: str
) -> None:
    etag = {"s3": {"properties": {"object": {"properties": {"eTag": {"type": "integer"}}}}}}
    search.request(
        "PUT", "/events", {"mappings": {"properties": {"Records": {"properties": etag}}}}
    )
    batch = [event("a", 1, etag="1"), event("b", 2, etag="x"), event("c", 3, etag="3")]
    failures = make(format=form).send(batch)
    assert kinds_of(failures) == {1: Retryable}
    assert "eTag" in str(failures[1])
    assert failures[1].alone
    assert len(search.received()) == 2


@pytest.mark.parametrize("block", ["write", "read_only_allow_delete"])
@pytest.mark.parametrize("form", ["namespace", "access"])
def test_events_wait_for_a_blocked_index(
    search: SearchServer, make: Make, form: str, block: str
) -> None:
    target = make(format=form)
    assert target.send(events(1, "before")) == {}
    search.request("PUT", "/events/_settings", {f"index.blocks.{block}": True})
    failures = target.send(events(3))
    assert {type(error) for error in failures.values()} == {Retryable}, failures
    assert len(failures) == 3
    assert "take the block away" in str(failures[0])
    finding = fault(target)
    assert f"index events is read-only: index.blocks.{block}" in finding.found
    assert "take the block away" in finding.hint
    search.request("PUT", "/events/_settings", {f"index.blocks.{block}": None})
    assert findings(target)[-1].status == "ok"
    assert target.send(events(3)) == {}
    assert len(search.received()) == 4


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_a_shard_that_starts_is_no_outage(search: SearchServer, make: Make, form: str) -> None:
    nowhere = "index.routing.allocation.require._name"
    search.request("PUT", "/events?wait_for_active_shards=0", {"settings": {nowhere: "nobody"}})
    target = make(format=form)
    with pytest.raises(Retryable, match="503") as refused:
        target.send(events(2))
    assert type(refused.value) is Retryable
    search.request("PUT", "/events/_settings", {nowhere: None})
    search.request("GET", "/_cluster/health/events?wait_for_status=yellow")
    assert target.send(events(2)) == {}


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_a_server_without_memory_gets_a_pause(search: SearchServer, make: Make, form: str) -> None:
    target = make(format=form)
    assert target.send(events(1, "before")) == {}
    limit = "network.breaker.inflight_requests.limit"
    search.request("PUT", "/_cluster/settings", {"transient": {limit: "4kb"}})
    failures = target.send(events(100))
    assert len(failures) == 100
    for error in failures.values():
        assert isinstance(error, Throttled)
        assert error.after > 0
    search.request("PUT", "/_cluster/settings", {"transient": {limit: None}})
    assert target.send(events(100)) == {}


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_a_server_with_a_small_body_limit_gets_small_requests(
    search: SearchServer, make: Make, form: str
) -> None:
    target = make(search.narrow_settings(format=form))
    large = event("large", 1, principal="p" * 40_000)
    failures = target.send([*events(60), large, *events(60, "other")])
    assert kinds_of(failures) == {60: TooLargeError}
    assert "raise http.max_content_length" in str(failures[60])
    assert len(search.received()) == 120


def test_a_dropped_index_is_created_again(search: SearchServer, make: Make) -> None:
    target = make()
    assert target.send(events(2)) == {}
    search.request("DELETE", "/events")
    search.request("DELETE", f"/{GUARD}")
    failures = target.send(events(3))
    assert {type(error).__mro__[1] for error in failures.values()} == {Retryable}
    assert target.send(events(3)) == {}
    assert len(search.received()) == 3
    assert "_meta" in search.request("GET", "/events/_mapping")["events"]["mappings"]


def test_an_index_that_cannot_be_created_is_reported(search: SearchServer, make: Make) -> None:
    search.request("PUT", "/_cluster/settings", {"persistent": {"cluster.max_shards_per_node": 1}})
    search.request("PUT", "/only", {"settings": {"number_of_replicas": 0}})
    with pytest.raises(Retryable, match=r"index events-guard cannot be created: .*shards"):
        make().send(events(1))


def test_a_send_has_a_time_limit(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    target = make()
    assert target.send(events(1)) == {}
    monkeypatch.setattr(Target._requests, "__defaults__", (-1.0,))
    failures = target.send(events(2))
    assert [str(error).partition(" took ")[1] for error in failures.values()] == [" took "] * 2


# The guard


def test_the_guard_remembers_deletes_longer_than_the_server(
    search: SearchServer, make: Make
) -> None:
    target = make()
    assert target.send([event("a", 5), event("b", 5)]) == {}
    for index in ("events", GUARD):
        search.request("PUT", f"/{index}/_settings", {"index.gc_deletes": "1ms"})
    assert target.send([event("a", 7, DELETE), event("b", 7, DELETE)]) == {}
    wait_until_forgotten(search, "/events/_doc/uploads%2Fwitness")
    assert target.send([event("a", 6)]) == {}
    assert make().send([event("b", 6), event("a", 4), event("a", 5, DELETE)]) == {}
    assert set(rows(search.received())) == {"uploads/witness"}
    assert target.send([event("a", 8)]) == {}
    assert set(rows(search.received())) == {"uploads/witness", "uploads/a"}


def wait_until_forgotten(search: SearchServer, path: str) -> None:
    """Wait until the server accepts a write older than a delete of the document."""
    body = msgspec.json.decode(minio.records(event("witness")))
    search.request("PUT", f"{path}?version=5&version_type=external", body)
    search.request("DELETE", f"{path}?version=7&version_type=external")
    search.request("POST", "/events/_flush?force=true")

    def forgotten() -> bool:
        search.request("POST", "/events/_refresh")
        try:
            search.request("PUT", f"{path}?version=6&version_type=external", body)
        except RefusedError:
            return False
        return True

    assert last_seen(forgotten), "the server still knows its delete"


def test_old_guard_documents_are_deleted(
    search: SearchServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = 86_400_000
    now = 1_800_000_000_000
    monkeypatch.setattr("bucketcast.targets.elasticsearch._now", lambda: now)
    assert make().send([event("old", 5, DELETE), event("kept", 5)]) == {}
    now += days
    assert make().send([event("young", 5, DELETE), tagged("kept", 6)]) == {}
    assert guarded(search) == {"uploads/old", "uploads/young", "uploads/kept"}
    now += (TOMBSTONE_DAYS - 1) * days
    assert make().send([event("other", 1)]) == {}
    assert guarded(search) == {"uploads/old", "uploads/young", "uploads/kept"}
    now += 1
    assert make().send([event("other", 1)]) == {}
    assert guarded(search) == {"uploads/young", "uploads/kept"}
    now += days
    assert make().send([event("other", 1)]) == {}
    assert guarded(search) == set()
    assert make().send([event("kept", 4), event("kept", 7, size=70)]) == {}
    assert rows(search.received())["uploads/kept"].size == 70


def guarded(search: SearchServer) -> set[str]:
    """Return the ids in the guard."""
    search.request("POST", f"/{GUARD}/_refresh")
    hits = search.request("POST", f"/{GUARD}/_search", {"size": 1000})["hits"]["hits"]
    return {hit["_id"] for hit in hits}


def test_an_object_that_was_only_put_is_not_in_the_guard(search: SearchServer, make: Make) -> None:
    target = make()
    assert target.send(events(20)) == {}
    assert target.send([*events(20), event("photo-00001", 50), event("photo-00002", 1)]) == {}
    assert guarded(search) == set()
    assert len(search.received()) == 20


def test_a_refused_event_does_not_affect_its_object(search: SearchServer, make: Make) -> None:
    host = {"source": {"properties": {"userAgent": {"type": "integer"}}}}
    search.request(
        "PUT", "/events", {"mappings": {"properties": {"Records": {"properties": host}}}}
    )
    target = make()
    fits, odd = {"user_agent": "1"}, {"user_agent": "odd"}
    batch = [
        event("under", 5, **fits),
        event("under", 9, **odd),
        event("under", 7, **fits),
        event("tagged", 5, **fits),
        tagged("tagged", 6, **odd),
        event("gone", 5, **odd),
        event("gone", 6, DELETE),
        event("fine", 5, **fits),
    ]
    failures = target.send(batch)
    assert kinds_of(failures) == dict.fromkeys((1, 4), Retryable)
    assert "userAgent" in str(failures[1])
    # Their entries in the guard do not make other events fail.
    assert target.send([event("tagged", 4), event("under", 3, DELETE)]) == {}
    assert target.send([event("tagged", 10, **fits), event("under", 10, **fits)]) == {}
    assert {key: row.size for key, row in rows(search.received()).items()} == {
        "uploads/under": 10,
        "uploads/tagged": 10,
        "uploads/fine": 5,
    }
