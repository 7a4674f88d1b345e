"""The parsed content of MinIO's files, before `merge`.

Keys and values are those of MinIO's configuration lines; values are text, "" for none.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.rules import Rule

ABOUT_THE_SERVER = "it is about the MinIO server, not about notifications"


class LeftOut(NamedTuple):
    """A setting that was skipped, and why."""

    what: str
    why: str


class TargetId(NamedTuple):
    """A target of MinIO; the id is `_` for the unnamed one."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"notify_{self.kind}.{self.id}"


@dataclass(slots=True)
class Parsed:
    """The parsed files."""

    stored: dict[TargetId, dict[str, str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    sync_events: str = ""
    left_out: list[LeftOut] = field(default_factory=list)
    errors: list[ConfigError] = field(default_factory=list)

    def store(self, where: str, target: TargetId, values: dict[str, str]) -> None:
        """Store a target's settings; a second time for the same target is an error."""
        if target in self.stored:
            self.error(where, f"duplicate target {target}", "delete one of the two")
        self.stored[target] = values

    def leave_out(self, what: str, why: str) -> None:
        entry = LeftOut(what, why)
        if entry not in self.left_out:
            self.left_out.append(entry)

    def error(self, where: str, found: str, allowed: str) -> None:
        self.errors.append(ConfigError(where, found, allowed))

    def raise_errors(self) -> None:
        """Raise if there are errors.

        Raises:
            ConfigErrors: every error found.
        """
        if self.errors:
            raise ConfigErrors(self.errors)


def join_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))
