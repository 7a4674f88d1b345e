"""MinIO's ARN of a notification target: `arn:minio:sqs:<region>:<id>:<type>`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Self

PREFIX = "arn:minio:sqs:"
_KINDS: Final[Mapping[str, str]] = MappingProxyType({"postgresql": "postgres"})
"""The kinds whose type in ARNs is not their name. A table, because the target modules are not
imported where only an ARN is at hand."""


@dataclass(frozen=True, slots=True)
class Arn:
    """A configured target as rules name it; `region` is usually empty, as MinIO's default is."""

    id: str
    type: str
    region: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an ARN.

        Raises:
            ValueError: the text is not six fields that begin with `arn:minio:sqs:`, or its id or
                type is empty.
        """
        fields = text.split(":")
        if not text.startswith(PREFIX) or len(fields) != 6 or not fields[4] or not fields[5]:  # noqa: PLR2004
            raise ValueError(f"invalid ARN '{text}': the form is {PREFIX}<region>:<id>:<type>")
        return cls(id=fields[4], type=fields[5], region=fields[3])

    @property
    def kind(self) -> str:
        """The kind of target for this type, which need not exist; "" if it is not a type."""
        name = "" if self.type in _KINDS.values() else self.type
        return _KINDS.get(self.type, name)

    @property
    def plain(self) -> str:
        """The ARN without its region, as rules store it, whatever region MinIO puts there."""
        return str(replace(self, region=""))

    def __str__(self) -> str:
        return f"{PREFIX}{self.region}:{self.id}:{self.type}"
