"""What is particular to Redis."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketcast import options
from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.namespace import DAYS_TO_REMEMBER
from bucketcast.shapes import minio
from bucketcast.targets import redis as module
from bucketcast.targets.redis import Target
from bucketcast.targets.redis.errors import NEEDS
from tests.contract.oracle import Row, visible
from tests.servers.redis import PASSWORD, RedisServer

PUT, COPY = "s3:ObjectCreated:Put", "s3:ObjectCreated:Copy"
DELETE, MARKER = "s3:ObjectRemoved:Delete", "s3:ObjectRemoved:DeleteMarkerCreated"
TAGGED = "s3:ObjectCreated:PutTagging"


def event(name: str, key: str, at: int, **more: Any) -> Event:
    """An event `at` so many milliseconds; removals and puts have a sequencer that says the same."""
    moment = f"2026-01-02T03:{at // 60_000:02}:{at // 1000 % 60:02}.{at % 1000:03}Z"
    sequencer = "" if name == TAGGED else f"{at:X}"
    fields = {"time": moment, "sequencer": sequencer, "record": msgspec.Raw(b"{}"), **more}
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

    keys = ("a/b", 'ü +%"},"source":{')
    versions = (None, None, "v1", "v2")

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
        return st.lists(one, max_size=18).map(lambda drawn: cls._made(drawn, in_step=in_step))

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
) -> None:
    target = make()

    @settings(
        max_examples=300,
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


def test_the_newest_overlay_counts_whenever_it_comes(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    target = make()
    for one in (put("a", 1), event(TAGGED, "a", 9), event(TAGGED, "a", 5, principal="late")):
        assert target.send([one]) == {}
    record = msgspec.json.decode(redis.received()[0].body)["Records"][0]
    assert (record["eventTime"], record["s3"]["object"]["size"]) == (put("a", 9).time, 1)


def test_the_value_is_what_minio_writes(redis: RedisServer, make: Callable[..., Target]) -> None:
    one = put("photos/a b.jpg", 1, version_id="v1")
    assert make().send([one]) == {}
    (arrival,) = redis.received()
    assert (arrival.key, arrival.body) == ("uploads/photos/a b.jpg", minio.records(one))


def test_a_field_that_minio_wrote_is_guarded_by_its_own_sequencer(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    old, kept = put("old", 5), put("kept", 5)
    with redis.connect() as client:
        for one in (old, kept):
            client.hset(redis.place, minio.path(one), minio.records(one))
        client.hset(redis.place, "uploads/foreign", '{"sequencer":"no end')
    assert make().send([put("old", 7), put("kept", 3), event(DELETE, "kept", 4)]) == {}
    assert make().send([put("foreign", 1)]) == {}
    assert {key: row.size for key, row in shown(redis).items()} == {
        "uploads/old": 7,
        "uploads/kept": 5,
        "uploads/foreign": 1,
    }


def test_removals_are_forgotten_after_a_fortnight(
    redis: RedisServer, make: Callable[..., Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, day = make(), [0]
    monkeypatch.setattr(time, "time", lambda: 1e9 + day[0] * 86_400)
    gone = [put("gone", 1, version_id="v1"), event(DELETE, "gone", 2, version_id="v1")]
    tagged = [put("tagged", 1), event(TAGGED, "tagged", 3), event(DELETE, "tagged", 4)]
    back = [put("back", 1), event(DELETE, "back", 2), put("back", 3)]
    for one in [*gone, *tagged, *back, event(DELETE, "never", 1)]:
        assert target.send([one]) == {}
    day[0] = 9
    # A second removal of the key, on another day, which hides nothing.
    assert target.send([event(DELETE, "gone", 3, version_id="v2")]) == {}
    day[0] = DAYS_TO_REMEMBER + 1
    assert target.send([event(TAGGED, "gone", 9)]) == {}
    assert set(shown(redis)) == {"uploads/back"}
    with redis.connect() as client:
        left = client.hkeys(f"{redis.place}:guard")
        assert sorted(left) == [b"-12 uploads/gonev2", b"uploads/gone"]
        day[0] += DAYS_TO_REMEMBER
        assert target.send([put("other", 1)]) == {}
        assert client.exists(f"{redis.place}:guard", f"{redis.place}:guard:aged") == 0
    assert set(shown(redis)) == {"uploads/back", "uploads/other"}


def test_access_appends_the_time_and_the_record(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    events = [put("a", 1), event(DELETE, "a", 2), event(TAGGED, "a", 3)] * 200
    assert make(format="access").send(events) == {}
    bodies = [arrival.body for arrival in redis.received()]
    assert bodies == [b'["%b",%b]' % (e.time.encode(), minio.records(e)) for e in events]


@pytest.mark.parametrize(
    ("format_", "type_"), [("namespace", "hash"), ("access", "list")], ids=["namespace", "access"]
)
def test_a_key_of_another_type_is_left_alone_and_named(
    redis: RedisServer, make: Callable[..., Target], format_: str, type_: str
) -> None:
    target = make(format=format_)
    with redis.connect() as client:
        client.set(redis.place, "mine")
        for one in (put("a", 1), event(DELETE, "a", 2), event(TAGGED, "a", 3)):
            failure = target.send([one])[0]
            assert type(failure) is Retryable
            assert f"'ev:events' must hold a {type_} or nothing" in str(failure)
        with pytest.raises(Retryable, match=f"must hold a {type_} or nothing"):
            target.probe()
        assert client.keys("*") == [b"ev:events"]
        client.delete(redis.place)
    assert target.send([put("a", 1)]) == {}


def test_a_user_with_the_documented_rights_is_enough(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    own = {"user": "narrow", "password": "n4rrow"}
    with redis.connect() as client:
        try:
            for kind, format_ in (("list", "access"), ("hash", "namespace")):
                client.delete(redis.place)
                rights = f"reset on >n4rrow ~{redis.place}* {NEEDS[kind]}"
                client.execute_command("ACL", "SETUSER", "narrow", *rights.split())
                target = make(format=format_, **own)
                target.probe()
                assert target.send([put("a", 1), event(TAGGED, "a", 2)]) == {}
                assert target.send([event(DELETE, "a", 2)]) == {}
        finally:
            client.acl_deluser("narrow")


@pytest.mark.parametrize("format_", ["namespace", "access"])
def test_missing_rights_are_named(
    redis: RedisServer, make: Callable[..., Target], format_: str
) -> None:
    texts = redis.limited_settings(key="other", format=format_)
    failure = make(texts).send([put("a", 1)])[0]
    assert type(failure) is Retryable
    assert "NOPERM" in str(failure)
    assert "the user needs ~other* +" in str(failure)


@pytest.mark.parametrize("limited", [True, False])
def test_a_wrong_password_is_not_authorized(
    redis: RedisServer, make: Callable[..., Target], *, limited: bool
) -> None:
    login = {"user": "alice"} if limited else {}
    target = make(redis.wrong_password_settings(**login))
    assert isinstance(target.send([put("a", 1)])[0], NotAuthorized)
    with pytest.raises(NotAuthorized, match="WRONGPASS"):
        target.probe()


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"cert_authority": "other_ca"}, "set cert_authority"),
        ({"tls": "off", "cert_authority": ""}, "does tls = off suit"),
        ({"address": "plain"}, "does tls = on suit"),
        ({"cert_authority": "-----BEGIN CERTIFICATE-----"}, "cannot be used"),
    ],
)
def test_tls_that_cannot_be_says_what_to_do(
    redis: RedisServer, make: Callable[..., Target], broken: dict[str, str], says: str
) -> None:
    values = {"other_ca": redis.tls.other_ca.read_text(), "plain": redis.address}
    texts = redis.tls_settings(**{key: values.get(text, text) for key, text in broken.items()})
    with pytest.raises(NotConnected, match=says):
        make(texts).probe()


def test_tls_verifies_both_sides(redis: RedisServer, make: Callable[..., Target]) -> None:
    make(redis.mtls_settings()).probe()
    with pytest.raises(NotConnected, match="client_cert"):
        make(redis.mtls_settings(client_cert="", client_key="")).probe()
    other = redis.tls.other_ca.read_text()
    make(redis.tls_settings(cert_authority=other, tls_skip_verify="on")).probe()


def test_a_server_without_memory_keeps_what_it_has(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    target = make()
    assert target.send([put("a", 1)]) == {}
    with redis.connect() as client:
        client.config_set("maxmemory", "1")
        try:
            failures = target.send([put("a", 2), put("b", 1)])
        finally:
            client.config_set("maxmemory", "0")
    assert {type(failure) for failure in failures.values()} == {Retryable}
    assert "OOM" in str(failures[0])
    assert set(shown(redis)) == {"uploads/a"}


def test_a_replica_is_no_place_to_write(redis: RedisServer, make: Callable[..., Target]) -> None:
    with redis.connect() as client:
        client.replicaof("127.0.0.1", "1")
        try:
            failure = make().send([put("a", 1)])[0]
        finally:
            client.replicaof("NO", "ONE")
    # A new connection may find the primary behind the same name.
    assert isinstance(failure, NotConnected)
    assert "address must be the primary's" in str(failure)


def test_one_event_too_large_is_rejected_alone(
    redis: RedisServer, make: Callable[..., Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_VALUE", 2_000)
    for format_ in ("namespace", "access"):
        failures = make(format=format_, key=f"ev:{format_}").send(
            [put("a", 1), put("x" * 2_000, 2), put("b", 3), put("\ud800", 4)]
        )
        assert {place: type(failure) for place, failure in failures.items()} == {
            1: Rejected,
            3: Rejected,
        }
    assert len(redis.received("ev:namespace")) == len(redis.received("ev:access")) == 2


def test_threads_share_a_target(redis: RedisServer, make: Callable[..., Target]) -> None:
    target, failures = make(), list[Any]()

    def work(which: int) -> None:
        failures.extend(target.send([put(f"{which}/{at}", at) for at in range(1, 600)]).values())

    threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(redis.received()) == 8 * 599


def test_the_scripts_forgotten_by_the_server_do_not_matter(
    redis: RedisServer, make: Callable[..., Target]
) -> None:
    target = make()
    assert target.send([put("a", 1)]) == {}
    with redis.connect() as client:
        client.script_flush()
    assert target.send([put("a", 2)]) == {}


def test_mistakes_that_no_single_option_shows() -> None:
    texts = {"address": "h", "key": "k", "tls_skip_verify": "on", "user": "u", "client_cert": "x"}
    texts["client_cert"] = "-----BEGIN CERTIFICATE-----"
    found = Target.check(options.read(Target.Settings, texts))
    assert [key for key, *_ in found] == [
        "client_cert",
        "tls_skip_verify",
        "client_key",
        "password",
    ]


@pytest.mark.parametrize(
    ("address", "where"),
    [("h", "h:6379"), ("h:1", "h:1"), ("[::1]:7", "::1:7"), ("[::1]", "::1:6379")],
)
def test_where_names_no_secret(address: str, where: str) -> None:
    texts = {"address": address, "key": "k", "password": PASSWORD}
    target = Target(options.read(Target.Settings, texts))
    assert target.where == f"{where}, hash k"
    assert PASSWORD not in repr(target.settings)
