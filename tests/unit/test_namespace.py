"""What a batch means for a mirror of the bucket, in any order and with repeats."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.event import Event
from bucketcast.namespace import Entry, Register, fold, newer
from tests.unit.made import event

DELETE = "s3:ObjectRemoved:Delete"
MARKER = "s3:ObjectRemoved:DeleteMarkerCreated"
TAGGING = "s3:ObjectCreated:PutTagging"
EARLY, LATE = "2026-03-14T09:00:00.000Z", "2026-03-14T10:00:00.000Z"


def told(entries: list[Entry]) -> list[tuple[str, str, str, str]]:
    return [(each.register, each.key, each.version, each.event.sequencer) for each in entries]


@pytest.mark.parametrize(
    ("made", "register", "version"),
    [
        (event(), Register.PUT, "null"),
        (event(version_id="v1"), Register.PUT, "v1"),
        (event(version_id=""), Register.PUT, "null"),
        (event(name="s3:ObjectCreated:Copy"), Register.PUT, "null"),
        (event(name="s3:ObjectRestore:Post"), Register.PUT, "null"),
        (event(name=DELETE), Register.REMOVAL, ""),
        (event(name=DELETE, version_id="v1"), Register.REMOVAL, "v1"),
        (event(name=DELETE, version_id="null"), Register.REMOVAL, "null"),
        (event(name=MARKER, version_id="v2"), Register.REMOVAL, ""),
        (event(name="s3:ObjectRemoved:DeleteAllVersions"), Register.REMOVAL, ""),
        (event(name="s3:LifecycleDelMarkerExpiration:Delete"), Register.REMOVAL, ""),
        (event(name=TAGGING, sequencer=""), Register.OVERLAY, "null"),
        (event(name=TAGGING, sequencer="", version_id="v1"), Register.OVERLAY, "v1"),
        (event(name=DELETE, sequencer=""), Register.REMOVAL, ""),
    ],
)
def test_event_moves_one_register(made: Event, register: Register, version: str) -> None:
    (entry,) = fold([made])
    assert (entry.register, entry.version, entry.places) == (register, version, [0])
    assert (entry.key, entry.event) == ("uploads/photos/cat.jpg", made)
    assert (entry.sequencer, entry.time) == made.order


@pytest.mark.parametrize(
    "nothing",
    [
        event(name="s3:ObjectRemoved:NoOP"),
        event(name="s3:Scanner:ManyVersions"),
        event("prefix/", name="s3:Scanner:BigPrefix"),
        event(""),
    ],
)
def test_what_is_about_no_object_moves_nothing(nothing: Event) -> None:
    assert fold([nothing]) == []
    assert len(fold([event(), nothing])) == 1


def test_newest_put_of_a_key_stands_for_all() -> None:
    (entry,) = fold([event(sequencer="2"), event(sequencer="10"), event(sequencer="9")])
    assert entry.event.sequencer == "10"
    assert entry.places == [0, 1, 2]


def test_of_two_with_the_same_order_the_first_counts() -> None:
    (entry,) = fold([event(size=1), event(size=2)])
    assert entry.event.size == 1
    assert entry.places == [0, 1]


def test_same_sequencer_is_decided_by_time() -> None:
    """MinIO's tagging repeats the sequencer of the object."""
    (entry,) = fold([event(time=EARLY), event(name=TAGGING, time=LATE)])
    assert entry.event.name == TAGGING


def test_put_removal_and_overlay_of_a_key_stand_side_by_side() -> None:
    batch = [
        event(name=TAGGING, sequencer=""),
        event(name=DELETE, sequencer="3"),
        event(sequencer="2"),
    ]
    assert told(fold(batch)) == [
        ("overlay", "uploads/photos/cat.jpg", "null", ""),
        ("put", "uploads/photos/cat.jpg", "null", "2"),
        ("removal", "uploads/photos/cat.jpg", "", "3"),
    ]


def test_removals_of_versions_do_not_hide_each_other() -> None:
    batch = [event(name=DELETE, version_id=each, sequencer="5") for each in ("v2", "v1", "v2")]
    assert [(each.version, each.places) for each in fold(batch)] == [("v1", [1]), ("v2", [0, 2])]


def test_keys_of_two_buckets_are_two_keys() -> None:
    assert len(fold([event("a"), event("a", bucket="other")])) == 2


def test_entries_are_sorted_so_that_all_writers_lock_alike() -> None:
    batch = [event(key) for key in ("b", "a", "é", "a/b", "B")]
    keys = [each.key for each in fold(batch)]
    assert keys == sorted(keys)
    assert fold(batch[::-1])[0].key == keys[0]


@pytest.mark.parametrize(
    ("one", "other", "is_newer"),
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
def test_newer(one: tuple[str, str], other: tuple[str, str], *, is_newer: bool) -> None:
    assert newer(one, other) == is_newer


def _event(key: str, name: str, sequencer: str, version: str | None, second: int) -> Event:
    time = f"2026-03-14T09:26:{second:02}.000Z"
    return event(key, name=name, sequencer=sequencer, version_id=version, time=time)


PUTS = st.builds(
    _event,
    st.sampled_from("ab"),
    st.sampled_from(["s3:ObjectCreated:Put", DELETE, MARKER]),
    st.sampled_from(["1", "2", "0A", "b"]),
    st.sampled_from([None, "v1", "v2"]),
    st.integers(0, 5),
)
OVERLAYS = st.builds(
    _event, st.sampled_from("ab"), st.just(TAGGING), st.just(""), st.none(), st.integers(0, 5)
)
BATCHES = st.lists(PUTS | OVERLAYS, max_size=12)


def registers(events: list[Event]) -> dict[tuple[str, str, str], tuple[str, str]]:
    found = {}
    for entry in fold(events):
        version = entry.version if entry.register is Register.REMOVAL else ""
        found[entry.key, entry.register.value, version] = (entry.sequencer, entry.time)
    return found


@given(BATCHES, st.randoms())
def test_order_and_repeats_change_nothing(batch: list[Event], random: Any) -> None:
    shuffled = batch + batch[::2]
    random.shuffle(shuffled)
    assert registers(shuffled) == registers(batch)


@given(BATCHES, st.integers(0, 12))
def test_two_batches_say_what_one_says(batch: list[Event], cut: int) -> None:
    halves = [each.event for part in (batch[:cut], batch[cut:]) for each in fold(part)]
    assert registers(halves) == registers(batch)


@given(BATCHES)
def test_every_event_has_its_place_once(batch: list[Event]) -> None:
    entries = fold(batch)
    assert sorted(place for each in entries for place in each.places) == list(range(len(batch)))
    for each in entries:
        assert {f"uploads/{batch[place].key}" for place in each.places} == {each.key}
