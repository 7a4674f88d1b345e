"""The parts of the Elasticsearch target that need no server."""

import itertools
import random
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urllib3 import HTTPConnectionPool, Timeout

from bucketcast.errors import DeliveryError, NotConnected, Retryable
from bucketcast.event import Event
from bucketcast.mirror.join import put_of
from bucketcast.mirror.registers import ANY, fold
from bucketcast.settings.options import read
from bucketcast.shapes import minio
from bucketcast.targets.base.mirror import READ_TIMEOUT_FACTOR, SWEEP_SECONDS
from bucketcast.targets.elasticsearch import Target
from bucketcast.targets.elasticsearch.api import Item, to_one_line
from bucketcast.targets.elasticsearch.client import Response
from bucketcast.targets.elasticsearch.documents import VISIBLE, Object, StoredDocument, Write
from bucketcast.targets.elasticsearch.errors import of_response
from bucketcast.targets.elasticsearch.guard import parse_guard
from bucketcast.targets.elasticsearch.index import RECORDS, prepare, sweep
from tests.contract.oracle import visible, without_puts_again

PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
MARKER, TAGGED = "s3:ObjectRemoved:DeleteMarkerCreated", "s3:ObjectCreated:PutTagging"
HOLD = "s3:ObjectCreated:PutLegalHold"


def event(name: str, at: int, **fields: Any) -> Event:
    time = f"2026-01-02T03:{at // 60_000:02}:{at // 1000 % 60:02}.{at % 1000:03}Z"
    sequencer = "" if name == TAGGED else f"{at:X}"
    values = {"time": time, "sequencer": sequencer, **fields}
    if name == PUT:
        values = {"size": at, "etag": f"e{at}", **values}
    return Event(name=name, bucket="b", key="k", stored=msgspec.Raw(b"{}"), **values)


class Store:
    """The documents of one object on the server, by slot, written on a condition."""

    def __init__(self) -> None:
        self.documents: dict[str, StoredDocument] = {}
        self._writes = 0

    def write(self, write: Write) -> Item:
        current = self.documents.get(write.slot)
        if (current and current.seq_no) != (write.current and write.current.seq_no):
            return Item(409)
        self._writes += 1
        if write.document is None:
            del self.documents[write.slot]
        else:
            self.documents[write.slot] = StoredDocument(self._writes, 1, write.document)
        return Item(200, self._writes, 1)

    def row(self) -> dict[str, Any]:
        document = self.documents.get(VISIBLE)
        if document is None:
            return {}
        record = msgspec.json.decode(document.source)["Records"][0]
        current = record["s3"]["object"]
        return {
            "name": record["eventName"],
            "size": current.get("size", 0),
            "etag": current.get("eTag", ""),
            "sequencer": current["sequencer"],
        }


def delivery(store: Store, events: Sequence[Event]) -> Generator[None]:
    """Perform one send, which can be interrupted or abandoned after each of its requests."""
    object_ = Object("b/k", b"", {ANY: b"", VISIBLE: b""})
    for entry in fold(events):
        object_.add((entry, msgspec.Raw(minio.records(entry.event))))
    while not object_.done:
        for slot in object_.unread:
            object_.current[slot] = store.documents.get(slot)
            yield
        object_.unread = ()
        for write in object_.plan_writes(now=1):
            object_.record_write(write, store.write(write))
            yield


def deliver_at_once(
    store: Store, batches: Iterable[Sequence[Event]], chance: random.Random
) -> None:
    """Deliver batches concurrently, in any order of their requests; some crash and are retried."""
    waiting = [(batch, delivery(store, batch)) for batch in batches if batch]
    while waiting:
        index = chance.randrange(len(waiting))
        batch, steps = waiting[index]
        if chance.random() < 0.05:
            waiting[index] = (batch, delivery(store, batch))
        elif next(steps, StopIteration) is StopIteration:
            del waiting[index]


def make_events(drawn: Sequence[tuple[str, str | None, int, int]]) -> list[Event]:
    """Return events whose times do not follow their sequencers, which some lack."""
    events = []
    for at, (name, version, sequenced, other) in enumerate(drawn, 1):
        fields: dict[str, Any] = {"version_id": version}
        if not sequenced:
            fields["sequencer"] = ""
        fields["time"] = f"2026-01-02T03:{other:02}:{at:02}.000Z"
        events.append(event(name, at, **fields))
    return events


def test_concurrent_writers_that_crash_have_the_same_result() -> None:
    drawn_event = st.tuples(
        st.sampled_from((PUT, PUT, DELETE, MARKER, TAGGED, HOLD)),
        st.sampled_from((None, "null", "v1", "v2")),
        st.integers(0, 2),
        st.integers(1, 40),
    )

    @settings(max_examples=100, database=None)
    @given(st.lists(drawn_event, max_size=9), st.randoms(use_true_random=False))
    def check(drawn: list[tuple[str, str | None, int, int]], chance: random.Random) -> None:
        events = without_puts_again(make_events(drawn))
        order = [*events, *(event_ for event_ in events if chance.random() < 0.3)]
        chance.shuffle(order)
        batches: list[list[Event]] = [[]]
        for event_ in order:
            batches[-1].append(event_)
            if chance.random() < 0.6:
                batches.append([])
        store = Store()
        deliver_at_once(store, batches, chance)
        expected = visible(events).get("b/k")
        assert store.row() == (expected._asdict() if expected else {})

    check()


# These are ordered by their times alone.
UNSEQUENCED = make_events([(PUT, None, 0, 1), (PUT, None, 0, 2), (TAGGED, None, 0, 3)])


def test_a_put_written_without_seeing_the_guard_is_not_lost() -> None:
    older, newer, tagged = UNSEQUENCED
    for steps in range(6):
        store = Store()
        deque(delivery(store, [older]), maxlen=0)
        overlaid = delivery(store, [tagged])
        for _ in range(steps):
            next(overlaid, None)
        deque(delivery(store, [newer]), maxlen=0)
        deque(overlaid, maxlen=0)
        assert store.row() == visible(UNSEQUENCED)["b/k"]._asdict(), steps


OVERLAID: tuple[tuple[list[tuple[str, str, int, int]], ...], ...] = (
    ([], [(PUT, "v1", 0, 20)], [(PUT, "null", 0, 16), (HOLD, "null", 1, 35)]),
    (
        [(PUT, "null", 0, 13), (DELETE, "null", 0, 14)],
        [(TAGGED, "v2", 0, 2)],
        [(PUT, "v1", 0, 26), (TAGGED, "v1", 0, 27)],
    ),
)
"""What is stored, and the batches of two writers; the second one shows a document with an overlay,
whose time is not that of its put."""


@pytest.mark.parametrize("batches", OVERLAID, ids=["older put", "removed put"])
def test_a_writer_that_read_the_guard_before_an_overlay_came_changes_no_newer_row(
    batches: Sequence[Sequence[tuple[str, str, int, int]]],
) -> None:
    events = make_events([*itertools.chain(*batches)])
    stored, second = len(batches[0]), len(events) - len(batches[2])
    for steps in range(12):
        store = Store()
        deliver_at_once(store, [events[:stored]], random.Random(1))  # noqa: S311 - a shuffle
        late = delivery(store, events[stored:second])
        deque(itertools.islice(late, steps), maxlen=0)
        deque(delivery(store, events[second:]), maxlen=0)
        deque(late, maxlen=0)
        assert store.row() == visible(events)["b/k"]._asdict(), steps


def test_the_state_of_a_key_does_not_grow_with_its_versions() -> None:
    store = Store()
    sizes = set()
    for at in range(301, 501, 2):
        put = event(PUT, at, version_id=f"v{at}")
        removal = event(DELETE, at + 1, version_id=f"v{at - 4}")
        deliver_at_once(store, [[put, removal]], random.Random(at))  # noqa: S311 - a shuffle
        sizes.add(len(store.documents[ANY].source))
    assert len(sizes) == 1
    versions = {len(parse_guard(each.source).versions) for each in store.documents.values()}
    assert versions == {0, 1}
    last = event(DELETE, 300, version_id="v499")
    deliver_at_once(store, [[last]], random.Random(1))  # noqa: S311 - a shuffle
    assert store.row() == {}
    puts = [event(PUT, 498, version_id="v498"), event(PUT, 502, version_id="v502")]
    for document, size in zip(puts, (None, 502), strict=True):
        deliver_at_once(store, [[document]], random.Random(1))  # noqa: S311 - a shuffle
        assert store.row().get("size") == size


def test_an_overlay_keeps_the_object_byte_for_byte() -> None:
    store, put = Store(), event(PUT, 5)
    current = b'{"key":"k","size":12345678901234567890,"x":1e999,"y":{},"sequencer":"5"}'
    document = b'{"Records":[{"eventTime":"%b","s3":{"object":%b}}]}' % (put.time.encode(), current)
    store.documents[VISIBLE] = StoredDocument(0, 1, document)
    tagged = event(TAGGED, 7, user_agent="}},{")
    deliver_at_once(store, [[tagged]], random.Random(1))  # noqa: S311 - a shuffle
    stored = store.documents[VISIBLE].source
    assert current in stored
    assert b'"userAgent":"}},{"' in stored


def test_a_foreign_document_is_parsed_and_put_on_one_line() -> None:
    lines = (
        b'{"Records": [\n'
        b'  {"eventTime": "2017-03-30T08:00:41Z", "s3": {"object": {"sequencer": "A"}}}]}'
    )
    put = put_of(to_one_line(lines))
    assert put is not None
    assert put.moment == ("a".rjust(32, "0"), "2017-03-30T08:00:41.000Z")
    assert b"\n" not in bytes(put.document)
    for strange in (b"{}", b'{"Records": []}', b"[1]", b'{"Records": "x"}'):
        assert put_of(strange) is None


RIGHT = {"url": "http://localhost:9200", "index": "events"}


def test_a_search_waits_longer_for_rows_than_for_tombstones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float | None] = []

    def answer(_: object, __: str, path: str, *, timeout: Timeout, **___: object) -> Any:
        if "/_search" not in path:
            return SimpleNamespace(status=404, headers={}, data=b"{}")
        waits.append(timeout.read_timeout)
        found = b'{"_shards":{"total":1,"successful":1}}'
        return SimpleNamespace(status=200, headers={}, data=found)

    monkeypatch.setattr(HTTPConnectionPool, "request", answer)
    target = Target(read(Target.Settings, RIGHT))
    assert list(target.stored_rows('{"id":0,"max":1}', "")) == []
    assert waits[0] == target.timeout * READ_TIMEOUT_FACTOR
    waits.clear()
    sweep(target._requests(SWEEP_SECONDS), "events-guard", 0, 10)
    assert waits == [SWEEP_SECONDS]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (503, b'{"error":{"type":"search_phase_execution_exception"}}', Retryable),
        (503, b'{"error":{"type":"master_not_discovered_exception"}}', NotConnected),
        (503, b'{"error":{"type":"cluster_manager_not_discovered_exception"}}', NotConnected),
        (503, b'{"error":{"type":"cluster_block_exception"}}', NotConnected),
        (503, b"<h1>503 Service Unavailable</h1>", NotConnected),
        (502, b"<h1>502 Bad Gateway</h1>", NotConnected),
        (502, b'{"error":{"type":"no UTF-8: \xfc"}}', NotConnected),
    ],
)
def test_a_503_is_an_outage_only_if_the_whole_cluster_cannot_answer(
    status: int, body: bytes, expected: type[DeliveryError]
) -> None:
    assert type(of_response(status, {}, body, "search.example:9200")) is expected


@pytest.mark.parametrize("known", ["flattened", "flat_object", "object"])
def test_an_index_is_created_with_what_the_servers_version_knows(known: str) -> None:
    created: list[Any] = []

    def send(method: str, _path: str, body: bytes = b"", *_: Any, **__: Any) -> Response:
        if method == "GET":
            status = 200 if created else 404
            return Response(status, msgspec.json.encode({"events": created[-1] if created else {}}))
        mapping = msgspec.json.decode(body)
        properties = mapping["mappings"]["properties"]["Records"]["properties"]
        metadata = properties["s3"]["properties"]["object"]["properties"]["userMetadata"]
        if metadata["type"] != known:
            return Response(400, b"No handler for type [x] declared on field [userMetadata]")
        created.append(mapping)
        return Response(200, b"{}")

    prepare(SimpleNamespace(send=send), "events", "access", RECORDS)  # type: ignore[arg-type]
    assert len(created) == 1
