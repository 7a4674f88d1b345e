"""Every target with a row per object: it mirrors the bucket."""

import sys
from itertools import permutations

import pytest

from bucketcast.event import Event
from bucketcast.mirror.registers import SEEN
from bucketcast.targets.base.mirror import SWEEP_LIMIT, Mirror
from tests.contract.case import DELETE, TAGGED, UNUSUAL_KEYS, Case, event, record_of
from tests.contract.mirrors import rows
from tests.contract.oracle import visible

OLDEST = "0" * 16


def test_unusual_keys_are_deleted_too(merged: Case) -> None:
    sender = merged.sender()
    assert sender.send([event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]) == {}
    removals = [event(key, at, DELETE) for at, key in enumerate(UNUSUAL_KEYS[1:], 100)]
    assert sender.send(removals) == {}
    assert merged.paths() == [f"uploads/{UNUSUAL_KEYS[0]}"]


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
    merged: Case, history: list[Event]
) -> None:
    sender = merged.sender()
    for number, event_ in enumerate(history, 1):
        assert sender.send([event_]) == {}
        assert rows(merged.arrivals()) == visible(history[:number])


def test_reads_write_no_row(merged: Case) -> None:
    sender = merged.sender()
    read = event("a", 9, "s3:ObjectAccessed:Get", size=9, etag="e9")
    assert sender.send([read, event("never", 9, "s3:ObjectAccessed:Head")]) == {}
    assert sender.send([event("a", 5), read]) == {}
    assert rows(merged.arrivals()) == visible([event("a", 5)])


@pytest.mark.parametrize("sequencer", ["", "2", "9"], ids=["none", "of its version", "new"])
def test_tags_of_an_older_version_change_nothing(merged: Case, sequencer: str) -> None:
    sender, keys = merged.sender(), [f"k{number}" for number in range(6)]
    for key, order in zip(keys, permutations(range(3)), strict=True):
        old, new = event(key, 2, version_id="v1"), event(key, 5, version_id="v2")
        about_old = event(key, 9, TAGGED, version_id="v1", sequencer=sequencer, size=2, etag="e2")
        for index in order:
            assert sender.send([(old, new, about_old)[index]]) == {}
    newest = [event(key, 5, version_id="v2") for key in keys]
    assert rows(merged.arrivals()) == visible(newest)


def test_the_newest_overlay_wins_in_any_order(merged: Case) -> None:
    sender = merged.sender()
    late = event("a", 5, TAGGED, sequencer="", principal="late")
    for event_ in (event("a", 1), event("a", 9, TAGGED, sequencer=""), late):
        assert sender.send([event_]) == {}
    record = record_of(merged.arrivals()[0].body)
    assert (record["eventTime"], record["s3"]["object"]["size"]) == (event("a", 9).time, 1)
    assert record["userIdentity"]["principalId"] == ""


def expiry(at: int, version: str, key: str = "a") -> Event:
    """What lifecycle removes by its id was not current."""
    expired = "s3:LifecycleExpiration:Delete"
    return event(key, at, DELETE, version_id=version, original=expired)


V3 = event("a", 8, version_id="v3")
MARKER = event("a", 8, "s3:ObjectRemoved:DeleteMarkerCreated", version_id="m")
SEEN_V2 = event("a", 9, version_id="v2", user_agent=SEEN, size=5, etag="e5")
NEEDLESS: dict[str, tuple[list[Event], list[Event]]] = {
    "a version below another expires": ([V1, V2], [expiry(9, "v1")]),
    "versions of nothing known expire": ([], [expiry(9, "v1"), expiry(9, "v2")]),
    "a version below a marker expires": ([V1, MARKER], [expiry(9, "v1")]),
    "a version comes after its expiry": ([V2], [expiry(9, "v1"), V1]),
    "ingest has seen that another version is current": (
        [V1, V2],
        [event("a", 9, DELETE, version_id="v1"), SEEN_V2],
    ),
    "a removal comes with a put after it": ([], [event("a", 7, DELETE, version_id="v1"), V3]),
}
"""What was there before, and a batch."""


@pytest.mark.parametrize(("before", "batch"), NEEDLESS.values(), ids=NEEDLESS)
def test_a_removal_of_a_version_that_is_not_current_leaves_nothing(
    merged: Case, before: list[Event], batch: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, other = merged.sender(), event("other", 1)
    assert sender.send([*before, other]) == {}
    kept = tombstones(merged, monkeypatch)
    assert sender.send([*before, other]) == {}
    assert sender.send(batch) == {}
    assert rows(merged.arrivals()).keys() == visible([*before, *batch, other]).keys()
    assert tombstones(merged, monkeypatch) == kept


def test_an_expired_version_that_is_shown_goes_for_good(merged: Case) -> None:
    """What replaced it comes late, or no rule asks for it."""
    sender = merged.sender()
    for batch in ([V1], [expiry(9, "v1")], [V1]):
        assert sender.send(batch) == {}
    assert merged.paths() == []
    assert sender.send([V2]) == {}
    assert rows(merged.arrivals()) == visible([V2])
    batch = [event("b", 1, version_id="v1"), expiry(9, "v1", "b")]
    assert sender.send(batch) == {}
    assert merged.paths() == ["uploads/a"]


def tombstones(merged: Case, patched: pytest.MonkeyPatch) -> int:
    """Return how many a mirror has, and delete them: all are as if they were old."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("bucketcast.targets.") and hasattr(module, "TOMBSTONE_DAYS"):
            patched.setattr(module, "TOMBSTONE_DAYS", -1)
    merged.arrivals()  # so that what was written is found
    target = merged.sender().target
    assert isinstance(target, Mirror)
    return target._sweep(SWEEP_LIMIT)
