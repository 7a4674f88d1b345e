"""The form of a call: its action, its parameters, and the attributes in both spellings.

Newer clients of Ceph send attributes as `Attributes.entry.N.key` and `…value`, in any order and
with any N; older ones send each as a parameter with the attribute's name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import parse_qsl

from bucketcast.limits import MOST_FORM_FIELDS
from bucketcast.topics.attributes import KNOWN
from bucketcast.topics.errors import TopicError, invalid

_ENTRY: Final = re.compile(r"Attributes\.entry\.([0-9]{1,1000})\.(key|value)")


@dataclass(frozen=True, slots=True)
class Form:
    """`values` are parameters by name; `attributes` may hold passwords."""

    values: Mapping[str, str] = field(repr=False)
    attributes: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Parse a form; `+` is a blank.

        Raises:
            TopicError: the form is invalid, or has a parameter twice.
        """
        try:
            pairs = parse_qsl(
                text.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(text),
                errors="strict",
                max_num_fields=MOST_FORM_FIELDS,
            )
        except ValueError as error:
            # The body may hold a password, so do not quote it.
            found = "too many fields" if "fields" in str(error) else "another text"
            raise invalid("body", found, "a form, URL-encoded UTF-8") from None
        values: dict[str, str] = {}
        for name, value in pairs:
            if name in values:
                raise TopicError("InvalidArgument", f"{name}: given twice")
            values[name] = value
        return cls(values, _attributes(values))

    def require(self, name: str) -> str:
        """Return a required parameter.

        Raises:
            TopicError: it is missing or empty.
        """
        if not self.values.get(name):
            raise TopicError("InvalidArgument", f"{name}: missing")
        return self.values[name]


def _attributes(values: Mapping[str, str]) -> dict[str, str]:
    entries: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        if entry_field := _ENTRY.fullmatch(name):
            part = entries.setdefault(entry_field[1].lstrip("0"), {})
            if entry_field[2] in part:
                raise TopicError("InvalidArgument", f"{name}: given twice")
            part[entry_field[2]] = value
    attributes = {name: value for name, value in values.items() if name in KNOWN}
    for entry in entries.values():
        key = entry.get("key", "")
        if not key:
            raise TopicError("InvalidArgument", "Attributes.entry: a value without its key")
        if key in attributes:
            raise TopicError("InvalidArgument", f"{key[:100]}: given twice")
        attributes[key] = entry.get("value", "")
    return attributes
