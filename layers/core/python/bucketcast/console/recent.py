"""The newest events that the console has received, and what became of each.

Events come from a listener, with their records; the logs say what became of them, by trace ids.
Either may come first. Numbers and bytes are bounded: the oldest events make room.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple

from msgspec.structs import replace

from bucketcast.delivery.tracing import trace_id
from bucketcast.diagnose.steps import Step, rank
from bucketcast.event import Event
from bucketcast.event.names import spellings

MAX_EVENTS: Final = 5_000
MAX_BYTES: Final = 32 * 1_048_576
_OVERHEAD_BYTES: Final = 2_048
_ENDS: Final = ("delivered", "dead")
_FAILED: Final = ("dead", "retried", "dropped")
_MAX_REASON: Final = 300
_MAX_STEPS: Final = 50
"""Of one event; a target that is down for long adds one with each try."""


class Entry(NamedTuple):
    """An event with its trace id, and when it was received (Unix ms)."""

    event: Event
    trace: str
    at: int

    @property
    def bytes(self) -> int:
        """About as many as it occupies."""
        return len(bytes(self.event.record)) + 4 * len(self.event.key) + _OVERHEAD_BYTES


class Wanted(NamedTuple):
    """Conditions that must all hold, empty for none.

    `names` are single, `target` is an ARN, `text` is a part of the key or begins the id.
    """

    bucket: str = ""
    prefix: str = ""
    names: frozenset[str] = frozenset()
    target: str = ""
    text: str = ""

    def matches(self, event: Event, outcomes: Mapping[str, Step]) -> bool:
        return (
            self.bucket in ("", event.bucket)
            and event.key.startswith(self.prefix)
            and (not self.names or not self.names.isdisjoint(spellings(event)))
            and (not self.target or self.target in outcomes)
            and (not self.text or self._has_text(event))
        )

    def _has_text(self, event: Event) -> bool:
        return self.text.casefold() in event.key.casefold() or event.id.startswith(
            self.text.lower()
        )


class Row(NamedTuple):
    """An event with its last known step at each target, by ARN; none are known without `read`."""

    entry: Entry
    outcomes: Mapping[str, Step]
    read: bool


@dataclass(slots=True)
class _Way:
    """The steps of an event, and the last one at each target.

    It `failed` if a target did not get it, or not yet after a try.
    """

    steps: dict[Step, None] = field(default_factory=dict)
    outcomes: dict[str, Step] = field(default_factory=dict)
    failed: bool = False

    def add(self, step: Step) -> None:
        self.steps[step] = None
        if len(self.steps) > _MAX_STEPS:
            del self.steps[next(iter(self.steps))]
        known = self.outcomes.get(step.target)
        if known is None or _progress(known) <= _progress(step):
            self.outcomes[step.target] = step
            self.failed = any(last.kind in _FAILED for last in self.outcomes.values())


_NONE: Final = _Way()


class Recent:
    """Events and steps, for one writer and readers in many threads."""

    def __init__(self, most: int = MAX_EVENTS, most_bytes: int = MAX_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._events: OrderedDict[str, Entry] = OrderedDict()
        self._ways: OrderedDict[str, _Way] = OrderedDict()
        self._bytes = 0
        self.number = 0
        """How many were added, with those that made room."""

    def add(self, event: Event, at: int) -> None:
        """Add an event; S3 and SQS may send one again."""
        # The record is a part of its message's buffer, which would stay as a whole.
        entry = Entry(replace(event, stored=event.record.copy()), trace_id(event), at)
        with self._lock:
            if event.id in self._events:
                return
            self.number += 1
            self._events[event.id] = entry
            self._bytes += entry.bytes
            while len(self._events) > self._most or self._bytes > self._most_bytes:
                _, oldest = self._events.popitem(last=False)
                self._bytes -= oldest.bytes

    def add_steps(self, steps: Iterable[Step]) -> None:
        """Add steps in any order; a known one is not added again."""
        with self._lock:
            for step in steps:
                way = self._ways.setdefault(step.event, _Way())
                way.add(step._replace(reason=step.reason[:_MAX_REASON]))
            while len(self._ways) > 2 * self._most:
                self._ways.popitem(last=False)

    def find(self, id_: str) -> Entry | None:
        """Return the event with this id."""
        with self._lock:
            return self._events.get(id_)

    def steps(self, entry: Entry) -> list[Step]:
        """Return the steps of an event that are known."""
        with self._lock:
            way = self._ways.get(entry.trace)
            return list(way.steps) if way else []

    def newest(self, wanted: Wanted, most: int) -> list[Row]:
        """Return the newest events that match, those that failed first, then the last one first."""
        failed: list[Row] = []
        others: list[Row] = []
        with self._lock:
            for entry in reversed(self._events.values()):
                way = self._ways.get(entry.trace, _NONE)
                rows = failed if way.failed else others
                if len(rows) < most and wanted.matches(entry.event, way.outcomes):
                    outcomes = {target: step for target, step in way.outcomes.items() if target}
                    rows.append(Row(entry, outcomes, read=bool(way.outcomes)))
        return [*failed, *others][:most]


def _progress(step: Step) -> tuple[bool, int, int]:
    """Return how far a step is: a quick target may log before ingest does."""
    return step.kind in _ENDS, rank(step.kind), step.at
