"""The registers that a batch updates, in any order and with repeats."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bucketcast.event import Event, padded
from bucketcast.mirror.registers import Register, fold, is_newer, moves
from tests.unit.samples import event

DELETE = "s3:ObjectRemoved:Delete"
MARKER = "s3:ObjectRemoved:DeleteMarkerCreated"
TAGGING = "s3:ObjectCreated:PutTagging"
EARLY, LATE = "2026-03-14T09:00:00.000Z", "2026-03-14T10:00:00.000Z"


def test_creation_without_a_sequencer_is_older_than_any_with_one() -> None:
    (entry,) = fold([event(sequencer="", time=LATE)])
    assert (entry.register, entry.sequencer) == (Register.PUT, "0" * 32)
    (entry,) = fold([event(sequencer="", time=LATE), event(sequencer="1", time=EARLY)])
    assert entry.event.sequencer == "1"
    (entry,) = fold([event(sequencer="", time=LATE), event(sequencer="", time=EARLY)])
    assert (entry.time, entry.indexes) == (LATE, [0, 1])


@pytest.mark.parametrize(
    ("removal", "version", "sequencer"),
    [
        (event(name=DELETE, sequencer="a"), "", f"{10:032x}"),
        (event(name=DELETE, sequencer=""), "", ""),
        (event(name=DELETE, version_id=""), "", f"{1:032x}"),
        (event(name=DELETE, version_id="null"), "null", f"{1:032x}"),
        (event(name=DELETE, version_id="null", sequencer=""), "null", ""),
        (event(name=DELETE, version_id="v1"), "v1", "f" * 32),
        (event(name=DELETE, version_id="v1", sequencer=""), "v1", "f" * 32),
        (event(name=MARKER, version_id="v2"), "", f"{1:032x}"),
        (event(name="s3:ObjectRemoved:DeleteAllVersions", version_id="v"), "", f"{1:032x}"),
        (event(name="s3:LifecycleDelMarkerExpiration:Delete", version_id="v"), "", f"{1:032x}"),
    ],
)
def test_a_removal_concerns_one_version_or_all(
    removal: Event, version: str, sequencer: str
) -> None:
    (entry,) = fold([removal])
    found = (entry.register, entry.version, entry.sequencer)
    assert found == (Register.REMOVAL, version, sequencer)


@pytest.mark.parametrize("sequencer", ["", "1"])
@pytest.mark.parametrize(
    "name",
    [
        TAGGING,
        "s3:ObjectCreated:DeleteTagging",
        "s3:ObjectCreated:PutRetention",
        "s3:ObjectCreated:PutLegalHold",
        "s3:ObjectAcl:Put",
        "s3:ObjectRestore:Completed",
        "s3:SomethingOfTomorrow",
    ],
)
def test_any_other_event_is_an_overlay_of_its_version(name: str, sequencer: str) -> None:
    """With a sequencer as in MinIO, or without one as in S3: only the time decides."""
    (entry,) = fold([event(name=name, sequencer=sequencer, version_id="v1")])
    assert (entry.register, entry.version, entry.sequencer) == (Register.OVERLAY, "v1", "")
    (entry,) = fold([event(name=name, sequencer=sequencer)])
    assert entry.version == "null"


@pytest.mark.parametrize(
    "nothing",
    [
        event(name="s3:ObjectRemoved:NoOP"),
        event(name="s3:ObjectRemoved:NoOP", version_id="v1"),
        event(name="s3:Scanner:ManyVersions"),
        event("prefix/", name="s3:Scanner:BigPrefix"),
        event(name="s3:ObjectAccessed:Get"),
        event(name="s3:ObjectAccessed:Head", sequencer=""),
        event(name="s3:ObjectAccessed:Attributes"),
        event(""),
    ],
)
def test_an_event_that_changes_no_object_updates_no_register(nothing: Event) -> None:
    assert fold([nothing]) == []
    assert len(fold([event(), nothing])) == 1


def test_some_indexes_can_be_left_out() -> None:
    (entry,) = fold([event(size=1), event(size=2), event(size=3)], without={0, 2})
    assert (entry.event.size, entry.indexes) == (2, [1])


def test_the_first_of_two_events_with_the_same_order_wins() -> None:
    (entry,) = fold([event(size=1), event(size=2)])
    assert entry.event.size == 1
    assert entry.indexes == [0, 1]


def test_entries_are_sorted_so_that_all_writers_lock_in_one_order() -> None:
    batch = [event(key) for key in ("b", "a", "é", "a/b", "B")]
    keys = [entry.key for entry in fold(batch)]
    assert keys == sorted(keys)
    assert fold(batch[::-1])[0].key == keys[0]


@pytest.mark.parametrize(
    ("order", "other", "expected"),
    [
        (("2", LATE), ("1", EARLY), True),
        (("2", EARLY), ("1", LATE), True),
        (("1", LATE), ("1", EARLY), True),
        (("1", EARLY), ("1", EARLY), False),
        (("", LATE), ("9", EARLY), True),
        (("", EARLY), ("9", LATE), False),
        (("9", LATE), ("", EARLY), True),
        (("", EARLY), ("", EARLY), False),
    ],
)
def test_is_newer(order: tuple[str, str], other: tuple[str, str], *, expected: bool) -> None:
    assert is_newer(order, other) == expected


def _event(key: str, name: str, sequencer: str, version: str | None, second: int) -> Event:
    time = f"2026-03-14T09:26:{second:02}.000Z"
    return event(key, name=name, sequencer=sequencer, version_id=version, time=time)


SOME = st.builds(
    _event,
    st.sampled_from("ab"),
    st.sampled_from(["s3:ObjectCreated:Put", DELETE, MARKER, TAGGING, "s3:ObjectAccessed:Get"]),
    st.sampled_from(["", "1", "2", "0A", "b"]),
    st.sampled_from([None, "null", "v1", "v2"]),
    st.integers(0, 5),
)
BATCHES = st.lists(SOME, max_size=12)


def registers(events: list[Event]) -> dict[tuple[str, str, str, bool], tuple[str, str]]:
    newest = {}
    for entry in fold(events):
        version = "" if entry.register is Register.PUT else entry.version
        index = (entry.key, entry.register.value, version, bool(entry.sequencer))
        newest[index] = (entry.sequencer, entry.time)
    return newest


@given(BATCHES, st.randoms())
def test_order_and_repeats_change_nothing(batch: list[Event], random: Any) -> None:
    shuffled = batch + batch[::2]
    random.shuffle(shuffled)
    assert registers(shuffled) == registers(batch)


def _comes_back(removal: Event, batch: list[Event]) -> bool:
    """Return True if a version is put when, or after, it was removed: S3 never does that."""
    return removal.name == DELETE and any(
        put.name != DELETE
        and (put.key, put.version_id) == (removal.key, removal.version_id)
        and padded(put.sequencer) >= padded(removal.sequencer)
        for put in batch
    )


@given(BATCHES, st.integers(0, 12))
def test_two_batches_have_the_same_result_as_one(batch: list[Event], cut: int) -> None:
    assume(not any(_comes_back(event_, batch) for event_ in batch))
    halves = [entry.event for part in (batch[:cut], batch[cut:]) for entry in fold(part)]
    assert registers(halves) == registers(batch)


@given(BATCHES)
def test_every_event_has_one_index(batch: list[Event]) -> None:
    entries = fold(batch)
    moving = [index for index, event_ in enumerate(batch) if moves(event_)]
    assert sorted(index for entry in entries for index in entry.indexes) == moving
    for entry in entries:
        assert {f"uploads/{batch[index].key}" for index in entry.indexes} == {entry.key}


@pytest.mark.parametrize(
    ("removal", "register"),
    [
        ({"version_id": "v1"}, Register.EXPIRY),
        ({"version_id": "null"}, Register.REMOVAL),
        ({}, Register.REMOVAL),
    ],
)
def test_what_lifecycle_removes_by_its_id_was_not_current(
    removal: dict[str, str], register: Register
) -> None:
    (entry,) = fold([event(name=DELETE, original="s3:LifecycleExpiration:Delete", **removal)])
    assert entry.register == register


@pytest.mark.parametrize(
    ("removal", "needed"),
    [
        ({"version_id": "v1", "sequencer": "8"}, False),
        ({"version_id": "v1", "sequencer": "9"}, True),
        ({"version_id": "v1", "sequencer": "10"}, True),
        ({"version_id": "v1", "sequencer": ""}, True),
        ({"version_id": "v2", "sequencer": "8"}, True),
        ({"version_id": "null", "sequencer": "8"}, True),
        ({"sequencer": "8"}, True),
    ],
)
def test_a_removal_by_id_before_a_put_of_another_version_is_left_out(
    removal: dict[str, str], *, needed: bool
) -> None:
    put = event(version_id="v2", sequencer="9")
    entries = fold([event(name=DELETE, **removal), put, event("other", name=DELETE)])
    assert [entry.register for entry in entries if entry.event.key == put.key] == [
        Register.PUT,
        *[Register.REMOVAL] * needed,
    ]
