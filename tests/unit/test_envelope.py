"""What travels on a target's queue: it carries everything, fits, and is refused when broken."""

import json
import random
from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketcast.delivery.envelope import (
    MAX_BYTES,
    Delivery,
    Envelope,
    TooLarge,
    pack,
    seal,
    unpack,
    zstd,
)
from tests.unit.made import event

SQS_BYTES = 1_048_576
ROOM_FOR_ATTRIBUTES = 4_096


def deliveries(count: int, record: bytes = b'{"eventName":"x"}') -> list[Delivery]:
    return [Delivery("rule", event(f"k{n}", record=msgspec.Raw(record))) for n in range(count)]


def noise(size: int) -> bytes:
    """A record of so many bytes that hardly compresses."""
    text = b64encode(random.Random(size).randbytes(size)).decode()  # noqa: S311 - repeatable
    return json.dumps({"x": text[: size - 9]}).encode()


def same(one: Delivery, other: Delivery) -> bool:
    return msgspec.json.encode(one) == msgspec.json.encode(other)


def test_small_message_can_be_read_by_a_person() -> None:
    (packed,) = pack(deliveries(1), 1_767_323_045_678)
    assert json.loads(packed.body) == {
        "since": 1_767_323_045_678,
        "events": [
            {
                "rule": "rule",
                "event": {
                    "name": "s3:ObjectCreated:Put",
                    "bucket": "uploads",
                    "key": "k0",
                    "time": "2026-03-14T09:26:53.589Z",
                    "sequencer": "1",
                    "record": {"eventName": "x"},
                },
            }
        ],
    }


@pytest.mark.parametrize(("count", "compressed"), [(1, False), (10, False), (200, True)])
def test_large_message_is_compressed(count: int, *, compressed: bool) -> None:
    (packed,) = pack(deliveries(count), 7, history=Envelope(0, attempts=3))
    body = json.loads(packed.body)
    assert ("zstd" in body) == compressed
    envelope, found = unpack(packed.body)
    assert (envelope.since, envelope.attempts, len(found)) == (7, 3, count)
    assert envelope.count == (count if compressed else 0)
    if compressed:
        assert len(packed.body) < len(msgspec.json.encode(found)) / 5


def test_one_message_holds_a_thousand_events_at_most() -> None:
    packed = list(pack(deliveries(2_500), 1))
    assert [(each.start, each.stop) for each in packed] == [(0, 1000), (1000, 2000), (2000, 2500)]
    keys = [each.event.key for one in packed for each in unpack(one.body)[1]]
    assert keys == [f"k{n}" for n in range(2_500)]


def test_one_message_unpacks_to_no_more_than_a_reader_opens() -> None:
    """Copies of an event for many rules compress to nothing, and are large again when opened."""
    record = json.dumps({"x": "x" * 1_000_000}).encode()
    made = [Delivery(f"rule{n}", event("key", record=msgspec.Raw(record))) for n in range(40)]
    packed = list(pack(made, 1))
    assert [each.stop - each.start for each in packed] == [8] * 5
    assert [one.rule for each in packed for one in unpack(each.body)[1]] == [
        one.rule for one in made
    ]


def test_reads_of_objects_count_too() -> None:
    """It stands beside the record, and may be many times longer."""
    large = {"x-amz-meta-a": "x" * 40_000}
    made = [Delivery("rule", event(f"k{n}", metadata=large)) for n in range(1_000)]
    packed = list(pack(made, 1))
    assert [one.event.key for each in packed for one in unpack(each.body)[1]] == [
        one.event.key for one in made
    ]


def test_message_that_is_cut_short_is_refused() -> None:
    (packed,) = pack(deliveries(200), 1)
    body = json.loads(packed.body)
    body["zstd"] = b64encode(b64decode(body["zstd"])[:-9]).decode()
    with pytest.raises(ValueError, match="no envelope of Bucketcast"):
        unpack(json.dumps(body))


def test_one_event_a_message_where_order_counts() -> None:
    packed = list(pack(deliveries(3), 1, most=1))
    assert [(each.start, each.stop) for each in packed] == [(0, 1), (1, 2), (2, 3)]


def test_nothing_makes_no_message() -> None:
    assert list(pack([], 1)) == []


def test_events_that_do_not_compress_are_split() -> None:
    made = [
        Delivery("rule", event(f"k{n}", record=msgspec.Raw(noise(60_000 + n)))) for n in range(40)
    ]
    packed = list(pack(made, 1))
    assert len(packed) > 1
    assert [each.start for each in packed[1:]] == [each.stop for each in packed[:-1]]
    assert (packed[0].start, packed[-1].stop) == (0, 40)
    for each in packed:
        assert len(each.body.encode()) <= SQS_BYTES - ROOM_FOR_ATTRIBUTES
    found = [one for each in packed for one in unpack(each.body)[1]]
    assert all(map(same, found, made))


@pytest.mark.parametrize("size", [5_000, 200_000, 1_043_000])
def test_compressing_never_makes_a_message_larger(size: int) -> None:
    """S3's message is 1 MiB at most; what it says must fit into ours, whatever it is."""
    made = deliveries(1, noise(size))
    (packed,) = pack(made, 1)
    assert len(packed.body) <= size + 500
    assert same(unpack(packed.body)[1][0], made[0])


@pytest.mark.parametrize("index", [0, 3, 6])
def test_an_event_that_fits_in_no_message_is_named_by_its_index(index: int) -> None:
    made = deliveries(7)
    made[index] = Delivery("rule", event("large", record=msgspec.Raw(noise(1_300_000))))
    with pytest.raises(TooLarge, match=r"the event takes [0-9]+ bytes; a message holds") as refused:
        list(pack(made, 1))
    assert refused.value.index == index


@pytest.mark.parametrize("key", ["\ufffe", "\uffff", "a\uffffb", "\ufffd"])
def test_character_that_sqs_refuses_is_hidden(key: str) -> None:
    (packed,) = pack([Delivery("rule", event(key))], 1)
    assert "\ufffe" not in packed.body
    assert "\uffff" not in packed.body
    assert unpack(packed.body)[1][0].event.key == key


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
RECORDS = st.builds(
    lambda value: msgspec.Raw(json.dumps({"x": value}).encode()), st.text() | st.integers()
)
EVENTS = st.builds(
    event,
    TEXT,
    name=TEXT,
    sequencer=TEXT,
    record=RECORDS,
    size=st.none() | st.integers(0, 2**63 - 1),
    etag=st.none() | TEXT,
    version_id=st.none() | TEXT,
    owner=TEXT,
)


@settings(max_examples=40)
@given(
    st.lists(st.builds(Delivery, TEXT, EVENTS, st.booleans(), st.integers(0, 2**53)), max_size=6),
    st.integers(0, 2**53),
    st.integers(0, 1_000),
    st.integers(1, 4),
)
def test_whatever_is_packed_comes_out(
    made: list[Delivery], since: int, attempts: int, most: int
) -> None:
    history = Envelope(0, attempts=attempts, reason="busy", error="Retryable")
    packed = list(pack(made, since, history=history, most=most))
    opened = [unpack(each.body) for each in packed]
    assert all(map(same, [one for _, found in opened for one in found], made))
    assert sum(len(found) for _, found in opened) == len(made)
    assert all((each.since, each.attempts) == (since, attempts) for each, _ in opened)
    assert all((each.reason, each.error) == ("busy", "Retryable") for each, _ in opened)
    for each in packed:
        assert all(c in "\t\n\r" or " " <= c <= "\ufffd" or c > "\uffff" for c in each.body)


def compressed(text: bytes, **more: Any) -> str:
    packed = b64encode(zstd.compress(text)).decode()
    return json.dumps({"since": 1, "count": 1, "zstd": packed} | more)


@pytest.mark.parametrize("count", [1, 200])
def test_a_sealed_envelope_is_sent_again_whole(count: int) -> None:
    history = Envelope(7, attempts=3, reason="busy", error="Retryable")
    (packed,) = pack(deliveries(count), 7, history=history)
    envelope, found = unpack(seal(packed.body).again(9, 4))
    assert (envelope.since, envelope.attempts) == (9, 4)
    assert (envelope.reason, envelope.error) == ("busy", "Retryable")
    assert all(map(same, found, deliveries(count)))


def test_envelope_of_an_older_release_is_read() -> None:
    """Its events wait while the new release is deployed."""
    one = '{"name":"n","bucket":"b","key":"k","time":"t","sequencer":"1","record":{}}'
    packed_delivery = f'{{"rule":"r","event":{one}}}'
    envelope, (delivery,) = unpack(f'{{"since":7,"v":1,"attempts":2,"events":[{packed_delivery}]}}')
    assert (envelope.since, envelope.attempts, envelope.reason) == (7, 2, "")
    assert (delivery.named, delivery.created) == (False, 0)


BROKEN = {
    "nothing": "",
    "text": "hello",
    "array": "[]",
    "another object": '{"Records": []}',
    "no since": '{"events": []}',
    "since of another type": '{"since": "1", "events": []}',
    "event of another type": '{"since": 1, "events": [1]}',
    "event without record": '{"since":1,"events":[{"rule":"r","event":{"name":"n"}}]}',
    "cut": '{"since": 1, "events": [',
    "bottomless": '{"since": 1, "x": ' + "[" * 100_000,
    "bottomless inside": compressed(b"[" * 100_000),
    "no base64": '{"since": 1, "zstd": "A"}',
    "no zstd": '{"since": 1, "zstd": "QUJDRA=="}',
    "zstd that ends early": '{"since": 1, "zstd": "KLUv"}',
    "zstd of no JSON": compressed(b"hello"),
    "zstd of no list": compressed(b"{}"),
    "zstd of no text": compressed(b"[\xff]"),
    "lone surrogate": '{"since": 1, "rule": "\udead"}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_broken_envelope_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(body)


def test_envelope_of_a_later_release_is_refused_with_its_version() -> None:
    with pytest.raises(ValueError, match="an envelope of version 2; this release reads version 1"):
        unpack('{"v": 2, "since": 1, "events": []}')


def test_fields_of_a_later_release_are_ignored() -> None:
    assert unpack('{"since": 1, "events": [], "colour": "blue"}')[1] == []


def test_limit_leaves_room_for_attributes() -> None:
    assert MAX_BYTES + ROOM_FOR_ATTRIBUTES == SQS_BYTES
