"""What is particular to Redis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketcast import options
from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets import redis as module
from bucketcast.targets.redis import Target
from tests.contract.oracle import Row, visible
from tests.servers.redis import RedisServer

PUT, COPY = "s3:ObjectCreated:Put", "s3:ObjectCreated:Copy"
DELETE, MARKER = "s3:ObjectRemoved:Delete", "s3:ObjectRemoved:DeleteMarkerCreated"
TAGGED = "s3:ObjectCreated:PutTagging"


def event(name: str, key: str, at: int, **more: Any) -> Event:
    """An event `at` so many milliseconds; removals and puts have a sequencer that says the same."""
    time = f"2026-01-02T03:{at // 60_000:02}:{at // 1000 % 60:02}.{at % 1000:03}Z"
    sequencer = "" if name == TAGGED else f"{at:X}"
    fields = {"time": time, "sequencer": sequencer, "record": msgspec.Raw(b"{}"), **more}
    return Event(name=name, bucket="uploads", key=key, **fields)


def put(key: str, at: int, **more: Any) -> Event:
    return event(PUT, key, at, **{"size": at, "etag": f"e{at}", **more})


@pytest.fixture
def redis(server: Callable[[str], Any]) -> RedisServer:
    found: RedisServer = server("redis")
    return found


@pytest.fixture
def make(redis: RedisServer) -> Iterator[Callable[..., Target]]:
    """Targets with these settings, closed in the end."""
    made: list[Target] = []

    def make(texts: Mapping[str, str] | None = None, **overrides: str) -> Target:
        texts = redis.settings(**overrides) if texts is None else texts
        made.append(Target(options.read(Target.Settings, texts)))
        return made[-1]

    yield make
    for target in made:
        target.close()


def shown(redis: RedisServer) -> dict[str, Row]:
    """What the hash shows, as the oracle says it."""
    rows = {}
    for arrival in redis.received():
        record = msgspec.json.decode(arrival.body)["Records"][0]
        held = record["s3"]["object"]
        rows[arrival.key] = Row(
            record["eventName"], held.get("size", 0), held.get("eTag", ""), held["sequencer"]
        )
    return rows


class Deliveries:
    """Events, then how they come: shuffled, doubled and cut into batches."""

    keys = ("a", "b/c ü+%", 'd"},"source":{')
    versions = (None, "null", "v1", "v2")

    @classmethod
    def events(cls, *, in_step: bool) -> st.SearchStrategy[list[Event]]:
        """`in_step`: times follow the sequencers, and some removals have no sequencer."""
        moment = st.integers(1, 40)
        one = st.tuples(
            st.sampled_from((PUT, PUT, COPY, DELETE, DELETE, MARKER, TAGGED, TAGGED)),
            st.sampled_from(cls.keys),
            st.sampled_from(cls.versions),
            st.booleans(),
            moment,
        )
        return st.lists(one, max_size=14).map(lambda drawn: cls._made(drawn, in_step=in_step))

    @staticmethod
    def _made(
        drawn: Sequence[tuple[str, str, str | None, bool, int]], *, in_step: bool
    ) -> list[Event]:
        events = []
        for at, (name, key, version, unsequenced, other) in enumerate(drawn, 1):
            more: dict[str, Any] = {"version_id": version}
            if name in (PUT, COPY):
                more |= {"size": at, "etag": f"e{at}"}
            if in_step and unsequenced and name in (DELETE, MARKER):
                more["sequencer"] = ""
            if not in_step:
                # Unlike the sequencer, but never twice the same.
                more["time"] = f"2026-01-02T03:{other:02}:{at:02}.000Z"
            events.append(event(name, key, at, **more))
        return events

    @staticmethod
    def batches(data: st.DataObject, events: Sequence[Event]) -> Iterator[list[Event]]:
        again = data.draw(st.lists(st.sampled_from(events), max_size=6)) if events else []
        order = data.draw(st.permutations([*events, *again]))
        while order:
            size = data.draw(st.integers(1, len(order)))
            yield list(order[:size])
            order = order[size:]


@pytest.mark.parametrize("in_step", [True, False])
def test_any_order_repetition_and_split_shows_the_same(
    redis: RedisServer, make: Callable[..., Target], *, in_step: bool
):
    target = make()

    @settings(
        max_examples=400,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(Deliveries.events(in_step=in_step), st.data())
    def proven(events: list[Event], data: st.DataObject) -> None:
        with redis.connect() as client:
            client.delete(redis.place, f"{redis.place}:guard", f"{redis.place}:guard:aged")
        for batch in Deliveries.batches(data, events):
            assert target.send(batch) == {}
        assert shown(redis) == visible(events)

    proven()
