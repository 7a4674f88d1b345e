"""Behaviour that only Redis has."""

import time
from collections.abc import Callable

import msgspec
import pytest

from bucketcast.errors import BreakerOpen, NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.shapes import minio
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.redis import REQUIRED_RIGHTS, Target, mirror
from bucketcast.targets.redis import client as redis_client
from tests.contract.case import DELETE, PUT, TAGGED, event, tagged
from tests.contract.diagnoses import fault
from tests.contract.mirrors import rows
from tests.contract.oracle import Row
from tests.contract.target_factory import making, running
from tests.servers.redis import RedisServer

Make = Callable[..., Target]
redis = running("redis")
make = making(Target, "redis", check=False)
Encode = Callable[[Event], bytes]


def _as_minio(event_: Event) -> bytes:
    return minio.records(event_)


def _with_blanks(event_: Event) -> bytes:
    return msgspec.json.format(minio.records(event_), indent=3).replace(b'": ', b'"\t:\r\n')


def _to_the_second(event_: Event) -> bytes:
    return minio.records(event_).replace(b".000Z", b"Z")


def _escaped(event_: Event) -> bytes:
    return minio.records(event_).replace(b'"sequencer"', b'"\\u0073equencer"')


def _with_invalid_unicode(event_: Event) -> bytes:
    """Add invalid Unicode, and brackets and quotes inside a string."""
    odd = b'"s3":{"odd":"\\ud800 \\" }]\\\\","deep":%b1%b,' % (b"[" * 300, b"]" * 300)
    return minio.records(event_).replace(b'"s3":{', odd)


@pytest.mark.parametrize(
    "encode", [_as_minio, _with_blanks, _to_the_second, _escaped, _with_invalid_unicode]
)
def test_a_field_that_minio_wrote_keeps_its_own_order(
    redis: RedisServer, make: Make, encode: Encode
) -> None:
    events = [event(key, 5000) for key in ("old", "kept", "removed", "tagged", "late")]
    with redis.connect() as client:
        for event_ in events:
            client.hset(redis.destination, minio.path(event_), encode(event_))
    target = make()
    assert target.send([event("old", 7000), event("kept", 3000), event("kept", 4000, DELETE)]) == {}
    assert target.send([event("removed", 6000, DELETE), tagged("tagged", 6000)]) == {}
    assert target.send([tagged("late", 4000)]) == {}
    assert {key: (row.name, row.size) for key, row in rows(redis.received()).items()} == {
        "uploads/old": (PUT, 7000),
        "uploads/kept": (PUT, 5000),
        "uploads/tagged": (TAGGED, 5000),
        "uploads/late": (PUT, 5000),
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        '{"Records":[]}',
        '{"sequencer":"no end',
        '{"Records":[{"eventTime":"x","s3":{"object":{"sequencer":"F"}}}]}',
        '{"Records":[{"s3":{"object":{"sequencer":"F"}}}]}',
        '{"Records":[{"eventTime":"2027-01-02T03:04:05Z","s3":[]}]}',
        '{"Records":[{"eventTime":"2027-01-02T03:04:05Z","s3":{"object":{"sequencer":"X"}}}]}',
        '{"Records":[{"eventTime":"2027-01-02T03:04:05Z","s3":{"object":{"sequencer":"F"}}},{}]}',
    ],
)
def test_a_field_that_is_no_record_is_replaced(redis: RedisServer, make: Make, text: str) -> None:
    with redis.connect() as client:
        for key in ("put", "removed", "tagged", "left"):
            client.hset(redis.destination, f"uploads/{key}", text)
        target = make()
        assert target.send([event("put", 1), event("removed", 1, DELETE)]) == {}
        assert target.send([tagged("tagged", 1)]) == {}
        assert client.hget(redis.destination, "uploads/tagged") == text.encode(), (
            "nothing to tell of"
        )
        assert target.send([event("tagged", 1)]) == {}
        fields = client.hgetall(redis.destination)
        assert fields.keys() == {b"uploads/put", b"uploads/tagged", b"uploads/left"}
        client.hdel(redis.destination, "uploads/left")
    assert {key: row.size for key, row in rows(redis.received()).items()} == {
        "uploads/put": 1,
        "uploads/tagged": 1,
    }


def test_an_overlay_leaves_the_object_as_it_is_written(redis: RedisServer, make: Make) -> None:
    stored = b'{"key":"a" , "size" : 12345678901234567890,"x":{},"y":[],"z":1e5,"sequencer":"5"}'
    whole = b'{"Records":[{"eventTime":"%b","s3":{"object":%b}}]}' % (
        event("a", 5).time.encode(),
        stored,
    )
    with redis.connect() as client:
        client.hset(redis.destination, "uploads/a", whole)
        assert make().send([tagged("a", 7, user_agent="}},{")]) == {}
        value = client.hget(redis.destination, "uploads/a")
    assert stored in value
    assert msgspec.json.decode(value)["Records"][0]["source"]["userAgent"] == "}},{"


def test_a_field_removed_by_hand_is_restored(redis: RedisServer, make: Make) -> None:
    """As when a mirror is filled again: the guard does not hide puts that it knows."""
    target = make()
    for event_ in (event("a", 5), tagged("a", 6), event("a", 7)):
        assert target.send([event_]) == {}
    with redis.connect() as client:
        client.delete(redis.destination)
    assert target.send([tagged("a", 8)]) == {}
    assert rows(redis.received()) == {}
    assert target.send([event("a", 7)]) == {}
    assert rows(redis.received()) == {"uploads/a": Row(TAGGED, 7, "e7", "7")}


def test_an_event_that_makes_the_script_fail_is_rejected_alone(
    redis: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real script, with an error for some events."""
    fault = 'if string.find(ARGV[1], "poison", 1, true) then error("met poison") end\n'
    monkeypatch.setattr(mirror, "SCRIPT", fault + mirror.SCRIPT)
    good = [event(f"k{at}", at) for at in range(1, 600)]
    odd = {
        0: event("k1", 9, etag="poison"),  # newer than what is good
        300: tagged("k2", 9, user_agent="poison"),
        600: event("alone", 1, etag="poison"),
    }
    batch = [*good]
    for index, event_ in odd.items():
        batch.insert(index, event_)
    failures = make().send(batch)
    assert {index: type(error) for index, error in failures.items()} == dict.fromkeys(odd, Rejected)
    assert "met poison" in str(failures[300])
    assert {key: row.etag for key, row in rows(redis.received()).items()} == {
        minio.path(event_): event_.etag for event_ in good
    }


def test_old_guard_entries_are_deleted(
    redis: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, day = make(), [0]
    monkeypatch.setattr(time, "time", lambda: 1e9 + day[0] * 86_400)
    removed = [event("gone", 1, version_id="v1"), event("gone", 2, DELETE, version_id="v1")]
    overlaid = [event("tagged", 1), tagged("tagged", 3)]
    restored = [event("back", 1), event("back", 2, DELETE), event("back", 3)]
    for event_ in [*removed, *overlaid, *restored, event("never", 1, DELETE)]:
        assert target.send([event_]) == {}
    day[0] = 9
    # A second removal of the key, on another day, which hides nothing.
    assert target.send([event("gone", 3, DELETE, version_id="v2")]) == {}
    day[0] = TOMBSTONE_DAYS + 1
    target = make()
    assert target.send([tagged("other", 9)]) == {}
    with redis.connect() as client:
        guarded = client.hkeys(f"{redis.destination}:guard")
        assert sorted(guarded) == [
            b"+13 uploads/othernull",
            b"-12 uploads/gonev2",
            b"uploads/gone",
            b"uploads/other",
        ]
        # The rows are kept, with their own order.
        assert target.send([event("tagged", 1), event("back", 2), tagged("tagged", 2)]) == {}
        assert rows(redis.received())["uploads/tagged"] == Row(TAGGED, 1, "e1", "1")
        assert rows(redis.received()).keys() == {"uploads/back", "uploads/tagged"}
        day[0] += TOMBSTONE_DAYS + 9
        assert make().send([event("back", 1)]) == {}
        assert client.exists(f"{redis.destination}:guard", f"{redis.destination}:guard:aged") == 0
    assert rows(redis.received()).keys() == {"uploads/back", "uploads/tagged"}


def test_what_a_batch_that_failed_left_in_the_guard_is_deleted_too(
    redis: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = [0]
    monkeypatch.setattr(time, "time", lambda: 1e9 + day[0] * 86_400)
    target, guard = make(), f"{redis.destination}:guard"
    with redis.connect() as client:
        client.set(f"{guard}:aged", "of another type")
        assert isinstance(target.send([event("gone", 2, DELETE)])[0], Retryable)
        client.delete(f"{guard}:aged")
        assert target.send([event("gone", 2, DELETE)]) == {}
        assert client.exists(guard) == 1
        day[0] = TOMBSTONE_DAYS + 1
        assert make().send([event("other", 1)]) == {}
        assert client.exists(guard) == 0


@pytest.mark.parametrize(
    ("format_", "type_"), [("namespace", "hash"), ("access", "list")], ids=["namespace", "access"]
)
def test_a_key_of_another_type_is_kept_and_reported(
    redis: RedisServer, make: Make, format_: str, type_: str
) -> None:
    target = make(format=format_)
    with redis.connect() as client:
        client.set(redis.destination, "mine")
        for event_ in (event("a", 1), event("a", 2, DELETE), tagged("a", 3)):
            failure = target.send([event_])[0]
            assert type(failure) is Retryable
            assert f"'ev:events' must hold a {type_} or nothing" in str(failure)
        with pytest.raises(Retryable, match=f"must hold a {type_} or nothing"):
            target.probe()
        assert client.keys("*") == [b"ev:events"]
        client.delete(redis.destination)
    assert target.send([event("a", 1)]) == {}


def test_a_user_with_the_documented_rights_is_enough(redis: RedisServer, make: Make) -> None:
    own = {"user": "narrow", "password": "n4rrow"}
    with redis.connect() as client:
        try:
            for kind, format_ in (("list", "access"), ("hash", "namespace")):
                client.delete(redis.destination)
                rights = f"reset on >n4rrow ~{redis.destination}* {REQUIRED_RIGHTS[kind]}"
                client.execute_command("ACL", "SETUSER", "narrow", *rights.split())
                target = make(format=format_, **own)
                target.probe()
                assert target.send([event("a", 1), tagged("a", 2)]) == {}
                assert target.send([event("a", 2, DELETE)]) == {}
        finally:
            client.acl_deluser("narrow")


@pytest.mark.parametrize("format_", ["namespace", "access"])
def test_missing_rights_are_named(redis: RedisServer, make: Make, format_: str) -> None:
    settings = redis.limited_settings(key="other", format=format_)
    failure = make(settings).send([event("a", 1)])[0]
    assert type(failure) is NotAuthorized
    assert "NOPERM" in str(failure)
    assert "the user needs ~other* +" in str(failure)
    finding = fault(make(settings))
    assert ("NOPERM" in finding.found, "the user needs ~other* +" in finding.hint) == (True, True)
    with redis.connect() as client:
        assert not client.exists("other")


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"cert_authority": "other_ca"}, "set cert_authority"),
        ({"tls": "off", "cert_authority": ""}, "does tls = off suit"),
        ({"address": "plain"}, "does tls = on suit"),
    ],
)
def test_a_failed_tls_handshake_has_a_hint(
    redis: RedisServer,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    broken: dict[str, str],
    expected: str,
) -> None:
    monkeypatch.setattr(redis_client, "CONNECT_SECONDS", 1.0)  # the plain port answers nothing
    values = {"other_ca": redis.tls.other_ca.read_text(), "plain": redis.address}
    settings = redis.tls_settings(
        **{key: values.get(value, value) for key, value in broken.items()}
    )
    with pytest.raises(NotConnected, match=expected):
        make(settings).probe()


def test_a_server_without_memory_keeps_its_rows(redis: RedisServer, make: Make) -> None:
    target = make()
    assert target.send([event("a", 1)]) == {}
    with redis.connect() as client:
        client.config_set("maxmemory", "1")
        try:
            failures = target.send([event("a", 2), event("b", 1)])
        finally:
            client.config_set("maxmemory", "0")
    assert {type(failure) for failure in failures.values()} == {Retryable}
    assert "OOM" in str(failures[0])
    assert set(rows(redis.received())) == {"uploads/a"}


@pytest.mark.parametrize("form", ["namespace", "access"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_beside_a_part_that_is_too_large_the_others_arrive(
    redis: RedisServer, make: Make, form: str, *, encrypted: bool
) -> None:
    """The part is sent again at once, and halved: it may hold others that are not too large."""
    settings = redis.tls_settings() if encrypted else redis.settings()
    target, half = make(settings, format=form), redis_client.EVENTS_PER_CALL
    batch = [event(f"{at:03}", at + 1, principal="p" * 8 * at) for at in range(2 * half)]
    batch[-1] = event("large", 1, principal="p" * 2**21)
    assert target.send(batch[:1]) == {}
    with redis.connect() as client:
        usual = client.config_get("proto-max-bulk-len")
        client.config_set("proto-max-bulk-len", 1024 * 1024)
        try:
            failures = target.send([*batch, event("behind", 1)])
            assert failures.keys() == {*range(half, 2 * half + 1)}
            assert {type(failure) for failure in failures.values()} == {BreakerOpen}
            with pytest.raises(TooLargeError, match="raise proto-max-bulk-len"):
                target.send(batch[half:])
        finally:
            client.config_set("proto-max-bulk-len", usual["proto-max-bulk-len"])
    assert len(redis.received()) == half + (form == "access")


def test_a_read_only_replica_is_retryable(redis: RedisServer, make: Make) -> None:
    with redis.connect() as client:
        client.replicaof("127.0.0.1", "1")
        try:
            failure, finding = make().send([event("a", 1)])[0], fault(make())
        finally:
            client.replicaof("NO", "ONE")
    # A new connection may find the primary behind the same name.
    assert isinstance(failure, NotConnected)
    assert "address must be the primary's" in str(failure)
    assert ("READONLY" in finding.found, finding.hint) == (True, "address must be the primary's")


def test_a_flushed_script_is_loaded_again(redis: RedisServer, make: Make) -> None:
    target = make()
    assert target.send([event("a", 1)]) == {}
    with redis.connect() as client:
        client.script_flush()
    assert target.send([event("a", 2)]) == {}
