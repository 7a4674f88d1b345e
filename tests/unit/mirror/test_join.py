"""How register updates change the stored state of a key, without a server."""

from itertools import permutations

import msgspec
import pytest

from bucketcast.event import Event
from bucketcast.mirror.join import HIDDEN, Change, Move, Put, Stored, join, put_of
from bucketcast.mirror.registers import Register, fold
from bucketcast.shapes.minio import records

PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
TAGGED = "s3:ObjectCreated:PutTagging"


def event(name: str, at: int, sequencer: str | None = None, version: str | None = None) -> Event:
    digits = f"{at:X}" if sequencer is None else sequencer
    time = f"2026-01-02T03:00:00.{at:03}Z"
    return Event(name, "b", "k", time, digits, msgspec.Raw(b"{}"), size=at, version_id=version)


def moves(*events: Event) -> list[Move]:
    return [
        (entry, HIDDEN if entry.register is Register.REMOVAL else msgspec.Raw(records(entry.event)))
        for entry in fold(events)
    ]


def seen(change: Change) -> tuple[str, int]:
    (record,) = msgspec.json.decode(change.document)["Records"]
    return record["eventTime"][-4:], record["s3"]["object"]["size"]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_any_order_ends_in_the_same(order: tuple[int, ...]) -> None:
    events = [event(PUT, 2), event(DELETE, 4), event(PUT, 6), event(TAGGED, 8, "")]
    stored, last = Stored(versions={}), Change()
    for index in order:
        change = join(stored, moves(events[index]))
        if change != Change():
            last = change
            stored.is_shown = bool(change.document)
            stored.time = "2026-01-02T03:00:00." + seen(change)[0] if change.document else ""
    assert seen(last) == ("008Z", 6)


def test_a_foreign_row_is_removed_with_its_key_and_lends_nothing() -> None:
    foreign = Put("0" * 32, "", "null", msgspec.Raw(b""))
    stored = Stored(is_shown=True, put=foreign, versions={})
    assert join(stored, moves(event(TAGGED, 3, ""))) == Change()
    assert join(stored, moves(event(DELETE, 4))) == Change(removed=True)


@pytest.mark.parametrize("other", [None, 1.5, "text", []])
def test_a_put_is_read_whatever_the_rest_of_its_record_is(other: object) -> None:
    (record,) = msgspec.json.decode(records(event(PUT, 7)))["Records"]
    s3, digits = record["s3"], "7" * 44  # of another source
    object_ = dict.fromkeys(s3["object"], other) | {"sequencer": digits, "versionId": None}
    rest = dict.fromkeys(record, other) | {"eventTime": "2026-01-02T03:04:05.678+00:00"}
    row = rest | {"s3": dict.fromkeys(s3, other) | {"object": object_}}
    put = put_of(msgspec.json.encode({"Records": [row]}))
    assert put
    assert (*put.moment, put.version) == (digits, "2026-01-02T03:04:05.678Z", "null")
