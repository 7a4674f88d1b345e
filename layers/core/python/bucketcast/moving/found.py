"""What stands in MinIO's files, as it stands there: readers fill it, `settled` makes sense of it.

Keys are those of MinIO's configuration lines, and so are values: texts, "" for none.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bucketcast import targets
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.rules import Rule


class LeftOut(NamedTuple):
    """What was not taken over, and why."""

    what: str
    why: str


class TargetId(NamedTuple):
    """A target of MinIO, `_` being the id of one without a name."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"notify_{self.kind}.{self.id}"


@dataclass(slots=True)
class Found:
    """All that was read so far."""

    stored: dict[TargetId, dict[str, str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    sync_events: str = ""
    left_out: list[LeftOut] = field(default_factory=list)
    mistakes: list[ConfigError] = field(default_factory=list)

    def store(self, where: str, target: TargetId, values: dict[str, str]) -> None:
        """Take a target's stored settings; a second time for the same target is a mistake."""
        if target in self.stored:
            self.wrong(where, f"found {target} again", "a target once: delete one of the two")
        self.stored[target] = values

    def leave_out(self, what: str, why: str) -> None:
        left = LeftOut(what, why)
        if left not in self.left_out:
            self.left_out.append(left)

    def wrong(self, where: str, found: str, allowed: str) -> None:
        self.mistakes.append(ConfigError(where, found, allowed))

    def checked(self) -> None:
        """End here if anything is wrong.

        Raises:
            ConfigErrors: with every mistake.
        """
        if self.mistakes:
            raise ConfigErrors(self.mistakes)


def kind_of(name: str) -> str | None:
    """The kind that MinIO calls so, as in `notify_postgres` or the last field of an ARN."""
    if name in targets.kinds():
        return name
    return next((kind for kind in targets.kinds() if targets.load(kind).arn_type == name), None)


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))
