"""Every target with a row per object: it mirrors the bucket."""

import random
from itertools import permutations

import pytest

from bucketcast.shapes import minio
from tests.contract.case import DELETE, UNUSUAL_KEYS, Case, event, events, record_of
from tests.contract.mirrors import rows
from tests.contract.oracle import Row, visible

TAGGED = "s3:ObjectCreated:PutTagging"
OLDEST = "0" * 16


def test_ten_arrive_under_their_keys(mirror: Case) -> None:
    batch = events(10)
    assert mirror.sender().send(batch) == {}
    assert [arrival.key for arrival in mirror.arrivals()] == [minio.path(put) for put in batch]
    assert mirror.paths() == [minio.path(put) for put in batch]


def test_unusual_keys_are_deleted_too(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]) == {}
    removals = [event(key, at, DELETE) for at, key in enumerate(UNUSUAL_KEYS[1:], 100)]
    assert sender.send(removals) == {}
    assert mirror.paths() == [f"uploads/{UNUSUAL_KEYS[0]}"]


def test_a_row_is_changed_and_deleted_with_its_object(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 1), event("b", 1)]) == {}
    assert sender.send([event("a", 2, size=22)]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 2, size=22), event("b", 1)])
    assert sender.send([event("a", 3, DELETE), event("never", 3, DELETE)]) == {}
    assert set(rows(mirror.arrivals())) == {"uploads/b"}
    assert sender.send([event("a", 4)]) == {}
    assert set(rows(mirror.arrivals())) == {"uploads/a", "uploads/b"}


def test_an_older_event_changes_nothing(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 5), event("b", 5), event("b", 7, DELETE)]) == {}
    for late in (event("a", 3), event("a", 4, DELETE), event("b", 6)):
        assert sender.send([late]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 5)])


def test_reads_write_no_row(mirror: Case) -> None:
    sender = mirror.sender()
    read = event("a", 9, "s3:ObjectAccessed:Get", size=9, etag="e9")
    assert sender.send([read, event("never", 9, "s3:ObjectAccessed:Head")]) == {}
    assert sender.send([event("a", 5), read]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 5)])


@pytest.mark.parametrize("sequencer", ["", "2", "9"], ids=["none", "of its version", "new"])
@pytest.mark.parametrize("name", [TAGGED, "s3:ObjectCreated:PutRetention", "s3:ObjectAcl:Put"])
def test_an_event_of_an_older_version_changes_nothing(
    mirror: Case, name: str, sequencer: str
) -> None:
    sender, keys = mirror.sender(), [f"k{number}" for number in range(6)]
    for key, order in zip(keys, permutations(range(3)), strict=True):
        old, new = event(key, 2, version_id="v1"), event(key, 5, version_id="v2")
        about_old = event(key, 9, name, version_id="v1", sequencer=sequencer, size=2, etag="e2")
        for index in order:
            assert sender.send([(old, new, about_old)[index]]) == {}
    newest = [event(key, 5, version_id="v2") for key in keys]
    assert rows(mirror.arrivals()) == visible(newest)


def test_an_overlay_waits_for_its_object(mirror: Case) -> None:
    sender = mirror.sender()
    tagged = event("a", 9, TAGGED, sequencer="5", size=77, etag="other", version_id="v1")
    assert sender.send([tagged]) == {}
    assert rows(mirror.arrivals()) == {}
    assert sender.send([event("a", 5, version_id="v1")]) == {}
    assert rows(mirror.arrivals()) == {"uploads/a": Row(TAGGED, 5, "e5", "5")}
    assert sender.send([event("a", 10, DELETE)]) == {}
    assert sender.send([event("a", 11, TAGGED, version_id="v1")]) == {}
    assert rows(mirror.arrivals()) == {}


def test_the_newest_overlay_wins_in_any_order(mirror: Case) -> None:
    sender = mirror.sender()
    late = event("a", 5, TAGGED, sequencer="", principal="late")
    for event_ in (event("a", 1), event("a", 9, TAGGED, sequencer=""), late):
        assert sender.send([event_]) == {}
    record = record_of(mirror.arrivals()[0].body)
    assert (record["eventTime"], record["s3"]["object"]["size"]) == (event("a", 9).time, 1)
    assert record["userIdentity"]["principalId"] == ""


def test_a_removal_by_id_removes_that_version_in_any_order(mirror: Case) -> None:
    v1, v2 = event("a", 2, version_id="v1"), event("a", 5, version_id="v2")
    no_v1, no_v2 = (event("a", 1, DELETE, version_id=version) for version in ("v1", "v2"))
    sender = mirror.sender()
    assert sender.send([no_v1]) == {}
    assert sender.send([v1]) == {}
    assert rows(mirror.arrivals()) == {}
    assert sender.send([v2]) == {}
    assert sender.send([no_v1]) == {}
    assert rows(mirror.arrivals()) == visible([v2])
    assert sender.send([no_v2]) == {}
    assert sender.send([v1, v2]) == {}
    assert rows(mirror.arrivals()) == {}
    assert sender.send([event("a", 6, version_id="v3")]) == {}
    assert set(rows(mirror.arrivals())) == {"uploads/a"}


def test_puts_without_a_sequencer_are_ordered_by_time(mirror: Case) -> None:
    sender = mirror.sender()
    puts = [event("a", at, sequencer="") for at in (5, 7, 3)]
    for put in puts:
        assert sender.send([put]) == {}
    assert rows(mirror.arrivals()) == visible(puts)
    assert sender.send([event("a", 2), event("a", 9, sequencer="")]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 2)])


def test_synthetic_events_lose_against_real_ones(mirror: Case) -> None:
    """Their sequencer is 0; objects of which nothing real is heard appear."""
    source = random.Random(5)  # noqa: S311 - a shuffle
    keys = [f"k{number}" for number in range(30)]
    real = [
        event(source.choice(keys[:20]), at, source.choice(("s3:ObjectCreated:Put", DELETE)))
        for at in range(1, 61)
    ]
    synthetic = [event(key, at, sequencer=OLDEST) for at, key in enumerate(keys, 90)]
    stream = source.sample([*real, *synthetic, *synthetic], 120)
    sender = mirror.sender()
    for start in range(0, 120, 17):
        assert sender.send(stream[start : start + 17]) == {}
    touched = {event_.key for event_ in real}
    alone = [event_ for event_ in synthetic if event_.key not in touched]
    assert rows(mirror.arrivals()) == visible([*real, *alone])
