"""The form of a record: its text, with blanks for the values that its event has as fields.

The records of a bucket differ in little else. So a message holds their form once, and a record is
made of it when somebody asks.
"""

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from bucketcast.event import Event

_FIELDS: Final = {
    "eventTime": ("time",),
    "principalId": ("principal",),
    "sourceIPAddress": ("source_ip",),
    "x-amz-request-id": ("request_id",),
    "x-amz-id-2": ("host_id",),
    "key": ("key", "quoted_key"),
    "size": ("size",),
    "eTag": ("etag",),
    "versionId": ("version_id",),
    "sequencer": ("sequencer",),
}
"""The fields of an event that may have the value, by the name in the record of S3 or MinIO."""
BLANKS: Final = frozenset(field for fields in _FIELDS.values() for field in fields)
_values = re.compile(rf'"({"|".join(_FIELDS)})": ?(?:"([^"\\]+)"|([0-9]+))').finditer


class Form:
    """The form of records: texts, and between them the names of fields that are to be filled in.

    Raises:
        ValueError: the parts have another number, or a name that no blank has.
    """

    __slots__ = ("_fields", "_format", "parts", "size")

    def __init__(self, parts: Sequence[str]) -> None:
        texts, blanks = parts[::2], parts[1::2]
        if not blanks or len(texts) != len(blanks) + 1 or not BLANKS.issuperset(blanks):
            raise ValueError(f"no form of a record: its blanks are '{', '.join(blanks)}'")
        self.parts = tuple(parts)
        self.size = sum(map(len, texts))
        self._format = "%s".join(text.replace("%", "%%") for text in texts)
        self._fields = attrgetter(*blanks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def fill(self, event: "Event") -> msgspec.Raw:
        """Return the record of an event."""
        return msgspec.Raw(self._format % self._fields(event))


def form_of(event: "Event") -> Form | None:
    """Return the form of an event's record; None if it has none of the event's values."""
    text = bytes(event.record).decode()
    parts: list[str] = []
    end = 0
    for match in _values(text):
        group = 2 if match[2] is not None else 3
        value = match[group]
        field = next((f for f in _FIELDS[match[1]] if str(getattr(event, f)) == value), None)
        if field:
            parts += text[end : match.start(group)], field
            end = match.end(group)
    return Form([*parts, text[end:]]) if parts else None
