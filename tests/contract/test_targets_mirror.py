"""Every target with a row per object: it mirrors the bucket."""

from itertools import permutations

import pytest

from bucketcast.event import Event
from tests.contract.case import DELETE, UNUSUAL_KEYS, Case, event, record_of
from tests.contract.mirrors import rows
from tests.contract.oracle import visible

TAGGED = "s3:ObjectCreated:PutTagging"
OLDEST = "0" * 16


def test_unusual_keys_are_deleted_too(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]) == {}
    removals = [event(key, at, DELETE) for at, key in enumerate(UNUSUAL_KEYS[1:], 100)]
    assert sender.send(removals) == {}
    assert mirror.paths() == [f"uploads/{UNUSUAL_KEYS[0]}"]


V1, V2 = event("a", 2, version_id="v1"), event("a", 5, version_id="v2")
NO_V1, NO_V2 = (event("a", 1, DELETE, version_id=version) for version in ("v1", "v2"))
HISTORIES = {
    "a row is changed and removed with its object": [
        event("a", 1),
        event("b", 1),
        event("a", 2, size=22),
        event("a", 3, DELETE),
        event("never", 3, DELETE),
        event("a", 4),
    ],
    "what comes late changes nothing": [
        event("a", 5),
        event("b", 5),
        event("b", 7, DELETE),
        event("a", 3),
        event("a", 4, DELETE),
        event("b", 6),
    ],
    "tags wait for their object": [
        event("a", 9, TAGGED, sequencer="5", size=77, etag="other", version_id="v1"),
        event("a", 5, version_id="v1"),
        event("a", 10, DELETE),
        event("a", 11, TAGGED, version_id="v1"),
    ],
    "a removal by id comes before its version": [NO_V1, V1, V2, NO_V1, NO_V2, V1, V2],
    "a version comes after one that was removed by its id": [
        V2,
        NO_V2,
        V1,
        event("a", 6, version_id="v3"),
    ],
    "puts without a sequencer are ordered by time": [
        *(event("a", at, sequencer="") for at in (5, 7, 3)),
        event("a", 2),
        event("a", 9, sequencer=""),
    ],
    "puts without a sequencer are ordered by time below tags too": [
        event("a", 3, sequencer=""),
        event("a", 5, TAGGED, sequencer=""),
        event("a", 4, sequencer=""),
        event("a", 3, sequencer=""),
    ],
    "a newest put that is hidden removes an older row with newer tags": [
        event("a", 5, DELETE, sequencer="", version_id="v2"),
        event("a", 3, sequencer="", version_id="v1"),
        event("a", 9, TAGGED, sequencer="", version_id="v1"),
        event("a", 4, sequencer="", version_id="v2"),
    ],
    "synthetic puts lose against real ones": [
        event("a", 90, sequencer=OLDEST),
        event("a", 1),
        event("a", 92, sequencer=OLDEST),
        event("a", 2, DELETE),
        event("a", 93, sequencer=OLDEST),
        event("alone", 94, sequencer=OLDEST),
    ],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_after_each_event_the_rows_are_those_of_all_so_far(
    mirror: Case, history: list[Event]
) -> None:
    sender = mirror.sender()
    for number, event_ in enumerate(history, 1):
        assert sender.send([event_]) == {}
        assert rows(mirror.arrivals()) == visible(history[:number])


def test_reads_write_no_row(mirror: Case) -> None:
    sender = mirror.sender()
    read = event("a", 9, "s3:ObjectAccessed:Get", size=9, etag="e9")
    assert sender.send([read, event("never", 9, "s3:ObjectAccessed:Head")]) == {}
    assert sender.send([event("a", 5), read]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 5)])


@pytest.mark.parametrize("sequencer", ["", "2", "9"], ids=["none", "of its version", "new"])
def test_tags_of_an_older_version_change_nothing(mirror: Case, sequencer: str) -> None:
    sender, keys = mirror.sender(), [f"k{number}" for number in range(6)]
    for key, order in zip(keys, permutations(range(3)), strict=True):
        old, new = event(key, 2, version_id="v1"), event(key, 5, version_id="v2")
        about_old = event(key, 9, TAGGED, version_id="v1", sequencer=sequencer, size=2, etag="e2")
        for index in order:
            assert sender.send([(old, new, about_old)[index]]) == {}
    newest = [event(key, 5, version_id="v2") for key in keys]
    assert rows(mirror.arrivals()) == visible(newest)


def test_the_newest_overlay_wins_in_any_order(mirror: Case) -> None:
    sender = mirror.sender()
    late = event("a", 5, TAGGED, sequencer="", principal="late")
    for event_ in (event("a", 1), event("a", 9, TAGGED, sequencer=""), late):
        assert sender.send([event_]) == {}
    record = record_of(mirror.arrivals()[0].body)
    assert (record["eventTime"], record["s3"]["object"]["size"]) == (event("a", 9).time, 1)
    assert record["userIdentity"]["principalId"] == ""
