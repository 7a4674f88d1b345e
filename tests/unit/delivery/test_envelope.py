"""What travels on a target's queue: it carries everything, fits, and is refused when broken."""

import json
import random
from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast.delivery.compression import compress
from bucketcast.delivery.dead_letters import unwrap
from bucketcast.delivery.envelope import (
    MAX_BYTES,
    Delivery,
    NewerVersion,
    TooLarge,
    number_in,
    pack,
    unpack,
)
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing
from bucketcast.limits import MESSAGE_BYTES, REASON_CHARACTERS
from tests.unit.samples import TIME, event, told


def deliveries(count: int, record: bytes = b'{"eventName":"x"}') -> list[Delivery]:
    return [Delivery("rule", event(f"k{n}", stored=msgspec.Raw(record))) for n in range(count)]


def noise(size: int) -> bytes:
    """A record of so many bytes that hardly compresses."""
    text = b64encode(random.Random(size).randbytes(size)).decode()  # noqa: S311 - repeatable
    return json.dumps({"x": text[: size - 9]}).encode()


def same(one: Delivery, other: Delivery) -> bool:
    return replace(one, event=told(one.event)) == replace(other, event=told(other.event))


@pytest.mark.parametrize(("count", "compressed"), [(1, False), (10, False), (200, True)])
def test_large_message_is_compressed(count: int, *, compressed: bool) -> None:
    (packed,) = pack(deliveries(count))
    assert ("zstd" in json.loads(packed.body)) == compressed
    found = unpack(packed.body)
    assert all(map(same, found, deliveries(count)))
    assert len(found) == number_in(packed.body) == count
    if compressed:
        assert len(packed.body) < len(msgspec.json.encode(deliveries(count))) / 5


def test_one_message_holds_a_thousand_events_at_most() -> None:
    packed = list(pack(deliveries(2_500)))
    assert [(each.start, each.stop) for each in packed] == [(0, 1000), (1000, 2000), (2000, 2500)]
    keys = [each.event.key for one in packed for each in unpack(one.body)]
    assert keys == [f"k{n}" for n in range(2_500)]


def test_one_message_unpacks_to_no_more_than_a_reader_opens() -> None:
    """Copies of an event for many rules compress to nothing, and are large again when opened."""
    record = json.dumps({"x": "x" * 1_000_000}).encode()
    made = [Delivery(f"rule{n}", event("key", stored=msgspec.Raw(record))) for n in range(40)]
    packed = list(pack(made))
    assert [each.stop - each.start for each in packed] == [8] * 5
    assert [one.rule for each in packed for one in unpack(each.body)] == [one.rule for one in made]


def test_reads_of_objects_count_too() -> None:
    """It stands beside the record, and may be many times longer."""
    large = {"x-amz-meta-a": "x" * 40_000}
    made = [Delivery("rule", event(f"k{n}", metadata=large)) for n in range(1_000)]
    packed = list(pack(made))
    assert [one.event.key for each in packed for one in unpack(each.body)] == [
        one.event.key for one in made
    ]


def test_message_that_is_cut_short_is_refused() -> None:
    (packed,) = pack(deliveries(200))
    body = json.loads(packed.body)
    body["zstd"] = b64encode(b64decode(body["zstd"])[:-9]).decode()
    with pytest.raises(ValueError, match="the compressed text is cut short"):
        unpack(json.dumps(body))


def test_compressing_never_makes_a_message_larger() -> None:
    made = deliveries(1, noise(MAX_BYTES - 500))
    (packed,) = pack(made)
    assert len(packed.body) <= MAX_BYTES
    assert same(unpack(packed.body)[0], made[0])


def test_events_that_do_not_compress_are_split_in_order() -> None:
    records = [msgspec.Raw(noise(60_000 + n)) for n in range(40)]
    made = [Delivery("rule", event(f"k{n}", stored=each)) for n, each in enumerate(records)]
    packed = list(pack(made))
    assert max(len(each.body.encode()) for each in packed) <= MAX_BYTES
    found = [one for each in packed for one in unpack(each.body)]
    assert all(map(same, found, made))
    assert len(found) == 40


@pytest.mark.parametrize("index", [0, 3, 6])
def test_an_event_that_fits_in_no_message_is_named_by_its_index(index: int) -> None:
    made = deliveries(7)
    made[index] = Delivery("rule", event("large", stored=msgspec.Raw(noise(1_300_000))))
    with pytest.raises(TooLarge, match=r"the event takes [0-9]+ bytes; a message holds") as refused:
        list(pack(made))
    assert refused.value.index == index


@pytest.mark.parametrize("key", ["\ufffe", "\uffff", "a\uffffb", "\ufffd"])
def test_character_that_sqs_refuses_is_hidden(key: str) -> None:
    (packed,) = pack([Delivery("rule", event(key))])
    assert "\ufffe" not in packed.body
    assert "\uffff" not in packed.body
    assert unpack(packed.body)[0].event.key == key


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
RECORDS = st.builds(
    lambda value: msgspec.Raw(json.dumps({"x": value}).encode()), st.text() | st.integers()
)
EVENTS = st.builds(
    event,
    TEXT,
    name=TEXT,
    sequencer=TEXT,
    stored=RECORDS,
    size=st.none() | st.integers(0, 2**63 - 1),
    etag=st.none() | TEXT,
    version_id=st.none() | TEXT,
    owner=TEXT,
)


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(Delivery, TEXT, EVENTS, st.booleans(), st.integers(0, 2**53), TEXT, TEXT),
        max_size=6,
    ),
    st.integers(1, 4),
)
def test_packed_deliveries_unpack_unchanged(made: list[Delivery], most: int) -> None:
    packed = list(pack(made, most))
    opened = [unpack(each.body) for each in packed]
    assert all(map(same, [one for found in opened for one in found], made))
    assert sum(map(len, opened)) == len(made)
    for each in packed:
        assert all(c in "\t\n\r" or " " <= c <= "\ufffd" or c > "\uffff" for c in each.body)


def compressed(text: bytes) -> str:
    zstd_ = b64encode(compress(text)).decode()
    return json.dumps({"v": 1, "count": 1, "copies": [{"rule": "r"}], "zstd": zstd_})


def listed(count: int = 1, copies: object = ({"rule": "r"},), **members: Any) -> str:
    """An envelope of one event, with other `members`."""
    same = {"name": "n", "bucket": "b", "key": "k", "time": TIME, "sequencer": ""}
    events = {"same": same | members.pop("same", {}), "each": members.pop("each", {})}
    text = {"events": events, "records": [{"whole": {}}]} | members.pop("listed", {})
    return json.dumps({"v": 1, "count": count, "copies": copies, "listed": text, **members})


BROKEN = {
    "nothing": "",
    "another object": '{"Records": []}',
    "no events": '{"v": 1, "count": 1, "copies": [{"rule": "r"}]}',
    "fewer keys than events": listed(2, each={"key": ["a"]}),
    "more keys than events": listed(1, each={"key": ["a", "b"]}),
    "no event": listed(0),
    "more events than a message has": listed(1_001),
    "no copy": listed(copies=[]),
    "no such copy": listed(2, copy_of=[0, 1]),
    "copy before the first": listed(2, copy_of=[0, -1]),
    "fewer copies than events": listed(2, copy_of=[0]),
    "no record": listed(listed={"records": []}),
    "no such record": listed(2, each={"stored": [0, 1]}),
    "record before the first": listed(2, each={"stored": [0, -1]}),
    "record that is nothing": listed(listed={"records": [{}]}),
    "form with a blank that no event fills": listed(listed={"records": [{"form": ["", "x", ""]}]}),
    "form without blanks": listed(listed={"records": [{"form": ["{}"]}]}),
    "form that ends with a blank": listed(listed={"records": [{"form": ["", "key"]}]}),
    "forms that make too much": listed(
        1_000, listed={"records": [{"form": ["x" * 40_000, "key", ""]}]}
    ),
    "cut": '{"v": 1, "events": [',
    "bottomless": '{"v": 1, "x": ' + "[" * 100_000,
    "bottomless inside": compressed(b"[" * 100_000),
    "no base64": '{"v": 1, "count": 1, "copies": [{"rule": "r"}], "zstd": "A"}',
    "no zstd": '{"v": 1, "count": 1, "copies": [{"rule": "r"}], "zstd": "QUJDRA=="}',
    "zstd that ends early": '{"v": 1, "count": 1, "copies": [{"rule": "r"}], "zstd": "KLUv"}',
    "zstd of no JSON": compressed(b"hello"),
    "zstd of no text": compressed(b"[\xff]"),
    "lone surrogate": '{"v": 1, "rule": "\udead"}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_broken_envelope_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(body)


def test_bomb_is_not_opened() -> None:
    """It would end the function, again and again."""
    with pytest.raises(ValueError, match="it unpacks to more than 33,554,432 bytes"):
        unpack(compressed(b" " * (33 << 20)))


@pytest.mark.parametrize("more", ['"events": []', '"parts": {}'])
def test_envelope_of_a_later_release_is_refused_with_its_version(more: str) -> None:
    """It waits for that release, while any other would be dead-lettered."""
    with pytest.raises(NewerVersion, match="envelope of version 2; this release reads version 1"):
        unpack(f'{{"v": 2, {more}}}')


def test_fields_of_a_later_release_are_ignored() -> None:
    (one,) = unpack(listed(colour="blue", same={"colour": "blue"}, each={"colour": [1, 2]}))
    assert (one.rule, one.event.key) == ("r", "k")


@pytest.mark.parametrize("body", ["text", '{"v": 1}', '{"zstd": 1}', '{"zstd": "", "more": ""}'])
def test_body_that_no_dead_letter_wrapped_stays_as_it_is(body: str) -> None:
    assert unwrap(body) == body


def test_limit_leaves_room_for_the_longest_history() -> None:
    arn, time = "arn:aws:sns:eu-central-1:" + "t" * 300, 2**53
    reason = "😀" * REASON_CHARACTERS
    history = History(time, 999, reason, "NotAuthorized", time, arn, arn, time, True)  # noqa: FBT003
    assert Outgoing("x" * MAX_BYTES, history=history).size <= MESSAGE_BYTES
