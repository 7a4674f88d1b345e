"""What reconcile reads of every mirror: its stored rows, and the merged state of keys."""

from collections.abc import Iterable
from itertools import chain

import pytest

from bucketcast.event import Event, padded
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.shapes import minio
from bucketcast.targets.base.mirror import Mirror
from tests.contract.case import DELETE, UNUSUAL_KEYS, Case, Sender, bounded, event, events, tagged

UPLOADS = "uploads/"


def of(put: Event) -> StoredRow:
    """The row that a put makes."""
    return StoredRow(
        minio.path(put),
        padded(put.sequencer),
        put.time,
        put.etag or "",
        put.size or 0,
        put.version_id,
    )


def mirror_of(sender: Sender) -> Mirror:
    assert isinstance(sender.target, Mirror)
    return sender.target


def stored(sender: Sender, prefix: str = UPLOADS) -> list[StoredRow]:
    """Return all rows below a prefix, each partition read by itself."""

    def read() -> Iterable[StoredRow]:
        mirror = mirror_of(sender)
        return chain.from_iterable(
            [*mirror.stored_rows(partition, prefix)] for partition in mirror.partitions(3)
        )

    return sorted(bounded(lambda: list(read())), key=lambda each: each.path)


def states_of(sender: Sender, *keys: str) -> dict[str, MergedState]:
    return bounded(lambda: mirror_of(sender).merged_states([UPLOADS + key for key in keys]))


def test_each_row_is_in_exactly_one_partition(mirror: Case) -> None:
    batch = events(5_000)
    sender = mirror.sender()
    for start in range(0, len(batch), 1000):
        assert sender.send(batch[start : start + 1000]) == {}
    partitions = mirror_of(sender).partitions(4)
    parts = [
        [*mirror_of(mirror.sender()).stored_rows(partition, UPLOADS)] for partition in partitions
    ]
    assert sorted(map(str, chain(*parts))) == sorted(map(str, map(of, batch)))
    assert all(len(part) < len(batch) for part in parts) or len(partitions) == 1


def test_a_row_describes_its_object(mirror: Case) -> None:
    sender = mirror.sender()
    puts = [
        event("versioned", 2, version_id="3HL4kqtJlcpXroDTDmJ"),
        event("empty", 3, size=0),
        event("nothing said", 4, size=None, etag=None),
        event("large", 5, size=2**43),
    ]
    assert sender.send(puts) == {}
    assert stored(sender) == sorted(map(of, puts), key=lambda each: each.path)


def test_unusual_keys_are_stored_decoded(mirror: Case) -> None:
    sender = mirror.sender()
    puts = [event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]
    assert sender.send(puts) == {}
    assert stored(sender) == sorted(map(of, puts), key=lambda each: each.path)
    assert states_of(sender, *UNUSUAL_KEYS).keys() == {UPLOADS + key for key in UNUSUAL_KEYS}


def test_a_prefix_is_taken_literally(mirror: Case) -> None:
    keys = ["a", "a_b/1", "axb/1", "a%1", "a*1", "a?1", "a[1]", "a\\1", "a 1", "ä1", "b", "A_b"]
    sender = mirror.sender()
    elsewhere = [event(key, 1, bucket=bucket) for key in keys for bucket in ("upload", "uploads2")]
    assert sender.send([*(event(key, 1) for key in keys), *elsewhere]) == {}
    for prefix in ("a", "a_b", "a%", "a*", "a?", "a[", "a\\", "a ", "ä", ""):
        expected = sorted(UPLOADS + key for key in keys if key.startswith(prefix))
        assert [row.path for row in stored(sender, UPLOADS + prefix)] == expected


def test_an_unused_mirror_has_no_rows(mirror: Case) -> None:
    sender = mirror.sender()
    assert stored(sender) == []
    assert states_of(sender, "a") == {}
    assert mirror.arrivals() == []


PUT = event("a", 5)
PUT_NULL, PUT_NAMED = (event("a", 5, version_id=version) for version in ("null", "3HL4kqtJlcpX"))


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([PUT], MergedState(of(PUT), padded("5"), PUT.time)),
        ([PUT, event("a", 7, DELETE)], MergedState(None, padded("7"), event("a", 7).time)),
        (
            [event("a", 9, DELETE, sequencer=""), PUT],
            MergedState(None, padded("5"), event("a", 9).time),
        ),
        (
            [PUT_NULL, event("a", 3, DELETE, version_id="null")],
            MergedState(of(PUT_NULL), padded("5"), PUT.time),
        ),
        (
            [PUT_NULL, event("a", 9, DELETE, version_id="null")],
            MergedState(None, padded("9"), event("a", 9).time),
        ),
        # That version is gone for good, so that nothing has to be newer than its removal.
        (
            [PUT_NAMED, event("a", 9, DELETE, version_id="3HL4kqtJlcpX")],
            MergedState(None, padded("5"), PUT.time),
        ),
    ],
    ids=[
        "a put",
        "a removal",
        "a put that a removal hides",
        "an older removal of a version",
        "a newer removal of a version",
        "a removal of a version by its id",
    ],
)
def test_the_merged_state_says_what_an_event_has_to_be_newer_than(
    mirror: Case, history: list[Event], expected: MergedState
) -> None:
    sender = mirror.sender()
    for event_ in history:
        assert sender.send([event_]) == {}
    assert states_of(sender, "a", "b") == {"uploads/a": expected}
    assert stored(sender) == [expected.row] * (expected.row is not None)


def test_the_merged_state_has_overlays(mirror: Case) -> None:
    put, tags = event("a", 5), tagged("a", 8, size=None, etag=None)
    sender = mirror.sender()
    assert sender.send([put, tags]) == {}
    (found,) = states_of(sender, "a").values()
    assert (found.sequencer, found.time) == (padded("5"), tags.time)
    assert found.row == StoredRow("uploads/a", padded("5"), tags.time, "e5", 5)


def test_an_event_newer_than_the_merged_state_repairs_the_row(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event("hidden", 5), event("hidden", 9, DELETE)]) == {}
    assert sender.send([event("late", 9, DELETE, sequencer=""), event("late", 5)]) == {}
    assert sender.send([event("never", 9, DELETE)]) == {}
    assert sender.send([event("extra", 5), event("tagged", 5)]) == {}
    assert sender.send([tagged("tagged", 8)]) == {}
    assert sender.send([event("under", 5, version_id="v2")]) == {}
    assert sender.send([event("under", 9, DELETE, version_id="v2")]) == {}
    keys = ("hidden", "late", "never", "extra", "tagged", "new", "under")
    states = states_of(sender, *keys)
    mended = [
        _beating(states.get(UPLOADS + key), key, DELETE if key in ("extra", "tagged") else "")
        for key in keys
    ]
    assert sender.send(mended) == {}
    assert [each.path for each in stored(sender)] == [
        UPLOADS + key for key in ("hidden", "late", "never", "new", "under")
    ]
    assert sender.send([event("under", 20, DELETE)]) == {}
    assert UPLOADS + "under" not in [each.path for each in stored(sender)]


def _beating(state: MergedState | None, key: str, name: str) -> Event:
    sequencer = (state.sequencer if state else "") or "0"
    at = int(state.time[-4:-1]) + 1 if state else 1
    return event(key, at, *filter(None, [name]), sequencer=sequencer)


def test_a_value_that_is_no_record_is_an_empty_row(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 5)]) == {}
    mirror.server.write("uploads/a", b'{"damaged": [1]}')
    assert [each for each in stored(sender) if each.etag or each.size] == []


def test_reading_may_stop_half_way(mirror: Case) -> None:
    sender = mirror.sender()
    assert sender.send(events(10)) == {}
    partition, *_ = mirror_of(sender).partitions(1)
    rows = mirror_of(sender).stored_rows(partition, UPLOADS)
    next(iter(rows))
    del rows
    assert len(stored(sender)) == 10
    assert sender.send([event("a", 20)]) == {}
