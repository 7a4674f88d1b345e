"""Events in columns: nothing of them is lost, and their records come back byte for byte."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.delivery.columns import decode, encode
from bucketcast.event import Event
from bucketcast.event.form import Form
from tests.unit.samples import event, record, told


def reopened(events: list[Event]) -> list[Event]:
    count = len(events)
    text = encode(events, [0] * count)
    return decode(text, ["rule"] * count, [False] * count, count).events


def parsed(*records: dict[str, Any], **style: Any) -> list[Event]:
    return sources.events(json.dumps({"Records": records}, **style))


def forms(events: list[Event]) -> int:
    return len({id(one.stored) for one in reopened(events) if isinstance(one.stored, Form)})


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["%s", "%", "{}", '"', "\\", "a b", "é", "\uffff", "\n", "1", "~*/+"]
)
RECORDS = st.builds(
    lambda key, size, etag, version, sequencer, principal, time: record(
        eventTime=f"2026-03-14T09:26:{time:02}.589Z",
        userIdentity={"principalId": principal},
        s3__object={
            name: value
            for name, value in (
                ("key", key),
                ("size", size),
                ("eTag", etag),
                ("versionId", version),
                ("sequencer", sequencer),
            )
            if value is not None
        },
    ),
    TEXT,
    st.none() | st.integers(0, 2**63 - 1),
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | st.sampled_from(["0A", "0b", ""]),
    TEXT,
    st.integers(0, 59),
)


@settings(max_examples=300)
@given(
    records=st.lists(RECORDS, min_size=1, max_size=6),
    separators=st.sampled_from([(",", ":"), (", ", ": "), ("\n ,", " : ")]),
    escapes=st.booleans(),
)
def test_any_records_come_back(
    records: list[dict[str, Any]], separators: tuple[str, str], *, escapes: bool
) -> None:
    events = parsed(*records, separators=separators, ensure_ascii=escapes)
    opened = reopened(events)
    assert [*map(told, opened)] == [*map(told, events)]
    assert [*map(told, reopened(opened))] == [*map(told, events)]  # as when they are sent again
    assert [bytes(one.record) for one in opened] == [bytes(one.record) for one in events]


@given(RECORDS)
def test_plain_event_needs_no_escape(one: dict[str, Any]) -> None:
    (opened,) = reopened(parsed(one))
    texts = (opened.key, opened.etag or "", opened.version_id or "", opened.principal)
    if opened.plain:
        assert all(json.dumps(text, ensure_ascii=False) == f'"{text}"' for text in texts)


def test_records_that_were_alone_in_their_messages_have_one_form_together() -> None:
    alone = [reopened(parsed(record(f"photos/{n}.jpg")))[0] for n in range(9)]
    assert forms(alone) == 1
    assert [*map(told, reopened(alone))] == [*map(told, alone)]


def test_keys_that_are_quoted_have_it_too() -> None:
    events = parsed(*(record(key) for key in ("a", "b%20c", "d+e", "f/%C3%A9")))
    assert [one.key for one in events] == ["a", "b c", "d e", "f/é"]
    assert forms(events) == 1


def test_records_of_different_kinds_have_each_their_own() -> None:
    puts = parsed(*(record(f"k{n}", s3__object__size=n) for n in range(4)))
    deletes = parsed(*(record(f"k{n}", eventName="ObjectRemoved:Delete") for n in range(4)))
    mixed = [one for pair in zip(puts, deletes, strict=True) for one in pair]
    assert forms(mixed) == 2


def test_what_all_have_in_common_stands_once() -> None:
    text = json.loads(encode([event("a"), event("b")], [1, 1]))
    assert text["events"]["same"].keys() == {"name", "bucket", "time", "sequencer", "created"}
    assert text["events"]["each"].keys() == {"key", "stored"}


def test_ids_are_made_once_where_there_are_many() -> None:
    many = [event(f"k{n}") for n in range(30)]
    assert [one.known_id for one in reopened(many)] == [one.id for one in many]
