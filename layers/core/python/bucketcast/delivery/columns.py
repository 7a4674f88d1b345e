r"""The events of a message as columns, and their records as forms.

::

    {"events": {"same": {"bucket": "…", …}, "each": {"key": ["…", "…"], …}},
     "records": [{"form": ["{…\"key\":\"", "key", "\"…}"]}, {"whole": {…}}]}

What all events have in common stands in it once, and a record that other events can fill is a form
(`event.form`).
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple, fields

from bucketcast.event import Event
from bucketcast.event.form import Form, form_of
from bucketcast.limits import UNPACKED_BYTES

_OF_COPIES = ("rule", "named", "plain")
"""The last fields of an event. They are not in its columns."""
_FIELDS: dict[str, tuple[Any, Any]] = {
    field.name: (field.type, UNSET if field.required else field.default)
    for field in fields(Event)
    if field.name not in _OF_COPIES
}
_FIELDS["stored"] = (Annotated[int, msgspec.Meta(ge=0)], 0)  # the index of the record
_FIELDS["created"] = (int, 0)
_NAMES = tuple(_FIELDS)
_FEW = 20
_STORED, _ID = map(_NAMES.index, ("stored", "known_id"))
_Same: Any = msgspec.defstruct(
    "_Same",
    [(name, kind | UnsetType, default) for name, (kind, default) in _FIELDS.items()],
    frozen=True,
)
_Each: Any = msgspec.defstruct(
    "_Each",
    [(name, list[kind] | UnsetType, UNSET) for name, (kind, _) in _FIELDS.items()],  # type: ignore[valid-type]
    frozen=True,
)


class _Events(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values that all events have, and those of each; what is in neither is the default."""

    same: _Same
    each: _Each = _Each()


class _Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole record, or the form of many."""

    whole: msgspec.Raw | UnsetType = UNSET
    form: Sequence[str] = ()


class _Listed(msgspec.Struct, frozen=True):
    events: msgspec.Raw
    records: list[_Record]


class Opened(NamedTuple):
    """Events, and when each of them arrived, in Unix ms; 0 if that is not stated."""

    events: list[Event]
    created: Iterable[int]


_encode = msgspec.json.Encoder().encode
_events = msgspec.json.Decoder(_Events)
_listed = msgspec.json.Decoder(_Listed)


def encode(events: Sequence[Event], created: Sequence[int]) -> bytes:
    """Return events as JSON; `created` is when each of them arrived."""
    records, indexes = _records_of(events)
    columns: list[Sequence[Any]] = [*zip(*map(astuple, events), strict=True)]
    del columns[-len(_OF_COPIES) :]
    columns[_STORED] = tuple(indexes)
    # Where there are many, each target is spared to make them; where there are few, bytes count.
    columns[_ID] = [event.id for event in events] if len(events) > _FEW else [""] * len(events)
    same: dict[str, Any] = {}
    each: dict[str, Sequence[Any]] = {}
    for (name, (_, default)), column in zip(_FIELDS.items(), [*columns, created], strict=True):
        first = column[0]
        if first != column[-1] or column.count(first) < len(column):
            each[name] = column
        elif first != default:
            same[name] = first
    text = _encode({"same": same, "each": each} if each else {"same": same})
    return _encode(_Listed(msgspec.Raw(text), records))


def decode(text: bytes, rules: Iterable[str], named: Iterable[bool], count: int) -> Opened:
    """Return so many events, each with the rule that it matched.

    Raises:
        MsgspecError, ValueError: the text holds something else.
    """
    listed = _listed.decode(text)
    events = _events.decode(listed.events)
    columns: list[Iterable[Any]] = []
    for name, same, each in zip(_NAMES, astuple(events.same), astuple(events.each), strict=True):
        if each is UNSET and same is UNSET:
            raise ValueError(f"no event has a {name}")
        if each is not UNSET and len(each) != count:
            raise ValueError(f"{len(each)} of {count} events have a {name}")
        columns.append(repeat(same, count) if each is UNSET else each)
    columns[_STORED] = _pick([*map(_open, listed.records)], [*columns[_STORED]])
    *of_events, created = columns
    # In JSON whatever needs an escape has a backslash before it.
    plain = repeat(b"\\" not in bytes(listed.events))
    return Opened(list(map(Event, *of_events, rules, named, plain)), created)


def _records_of(events: Sequence[Event]) -> tuple[list[_Record], list[int]]:
    """Return the records of the events, those alike as one form, and the index of each event's."""
    if len(events) == 1:
        form = form_of(events[0])  # still smaller: no value is in the message twice
        return [_Record(form=form.parts) if form else _Record(events[0].record)], [0]
    stored: list[msgspec.Raw | Form] = []
    indexes: list[int] = []
    latest: dict[object, tuple[int, Event]] = {}
    for event in events:
        record = event.stored
        if isinstance(record, Form):
            kind: object = record
        else:
            kind = event.name, event.bucket, event.dialect, event.version_id is None
        index, first = latest.get(kind, (-1, event))
        if index < 0 or not _shares(event, stored, index, first):
            if index < 0 or not isinstance(stored[index], Form):
                latest[kind] = len(stored), event
            index = len(stored)
            stored.append(record)
        indexes.append(index)
    return [
        _Record(form=record.parts) if isinstance(record, Form) else _Record(record)
        for record in stored
    ], indexes


def _shares(event: Event, stored: list[msgspec.Raw | Form], index: int, first: Event) -> bool:
    """Return True if a stored record can be the form of the event's, and make it that."""
    form = stored[index]
    if isinstance(event.stored, Form):  # of this kind, so it is the same
        return True
    made = form if isinstance(form, Form) else form_of(first)
    if made is None or made.fill(event) != event.stored:
        return False
    stored[index] = made
    return True


def _open(record: _Record) -> msgspec.Raw | Form:
    """Return the record, or the form.

    Raises:
        ValueError: it is neither.
    """
    if record.form:
        return Form(record.form)
    if record.whole is UNSET:
        raise ValueError("a record is neither whole nor a form")
    return msgspec.Raw(bytes(record.whole))  # else it would keep all of the message in memory


def _pick(records: Sequence[msgspec.Raw | Form], indexes: Sequence[int]) -> list[Any]:
    """Return the record of each event.

    Raises:
        ValueError: there is no such record, or all of them together are too large.
    """
    sizes = [size_of(record) for record in records]
    try:
        size = sum(map(sizes.__getitem__, indexes))
    except IndexError:
        raise ValueError(f"of {len(records)} records none is the {max(indexes) + 1}th") from None
    if size > UNPACKED_BYTES:
        raise ValueError(f"its records take {size:,} bytes, which is not opened")
    return list(map(records.__getitem__, indexes))


def size_of(record: msgspec.Raw | Form) -> int:
    """Return the bytes of a record, or about those of a form's records."""
    return record.size if isinstance(record, Form) else memoryview(record).nbytes
