"""Synthetic events: as S3 would send them, and of a test, with the steps that they took."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import msgspec

from bucketcast import sources
from bucketcast.delivery import tracing
from bucketcast.diagnose.steps import QUEUED, Step
from bucketcast.event import Event
from bucketcast.shapes import aws as s3_record
from bucketcast.terminal.times import clock

NAME: Final = "bucketcast-test"
"""The bucket, principal and rule of each event, and the beginning of its key and request id."""
_ENDS: Final = ("delivered", "dead")


def synthetic(name: str, bucket: str, key: str, size: int | None, **fields: Any) -> Event:
    """Return the event that S3 would send now, as ingest reads it."""
    now = time.time()
    at, sequencer = clock(round(now * 1_000)), f"{int(now * 1e9):016X}"
    event = Event(
        name, bucket, key, at, sequencer, msgspec.Raw(b"{}"), size, dialect="synthetic", **fields
    )
    (parsed,) = sources.events(s3_record.message(event).decode())
    return parsed


def make_event(name: str) -> Event:
    """Return an event of this name for a test, with a new key."""
    size = 0 if name.startswith("s3:ObjectCreated") else None
    request = f"{NAME}-{uuid4().hex}"
    return synthetic(name, NAME, f"{NAME}/{uuid4().hex}", size, principal=NAME, request_id=request)


@dataclass
class Trial:
    """The steps of sent events; `sent` is when each was sent, in Unix ms by trace id."""

    sent: dict[str, int] = field(default_factory=dict)
    steps: dict[str, set[Step]] = field(default_factory=dict)

    def record_sent(self, events: Iterable[Event], at: int) -> None:
        """Remember when events were sent."""
        self.sent |= {tracing.trace_id(event): at for event in events}

    def add_steps(self, steps: Iterable[Step]) -> None:
        """Add the steps that belong to these events; a known one is not added again."""
        for step in steps:
            if step.event in self.sent:
                self.steps.setdefault(step.event, set()).add(step)

    @property
    def pending(self) -> list[str]:
        """The events that were neither delivered nor dead-lettered yet."""
        ended = {
            event
            for event, steps in self.steps.items()
            if any(step.kind in _ENDS for step in steps)
        }
        return [event for event in self.sent if event not in ended]

    @property
    def is_complete(self) -> bool:
        """True if all steps of all events are known."""
        steps_by_event = (self.steps.get(event, ()) for event in self.sent)
        return not self.pending and all(
            any(step.kind == QUEUED for step in steps) for steps in steps_by_event
        )

    def of_kind(self, kind: str) -> list[Step]:
        return [step for steps in self.steps.values() for step in steps if step.kind == kind]

    @property
    def times(self) -> list[int]:
        """The times from sending to delivery, in ms, in ascending order."""
        first: dict[str, int] = {}
        for step in self.of_kind("delivered"):
            first[step.event] = min(step.at, first.get(step.event, step.at))
        return sorted(max(at - self.sent[event], 0) for event, at in first.items())

    @property
    def rate(self) -> float:
        """Events per second, from the first sending to the last delivery."""
        ends = [step.at for step in self.of_kind("delivered")]
        seconds = (max(ends) - min(self.sent.values())) / 1000 if ends else 0
        return len(self.times) / seconds if seconds > 0 else 0.0

    def failure(self, function: str) -> str:
        """Return the reason for which not all were delivered, "" if they were."""
        if dead := self.of_kind("dead"):
            return f"dead-lettered: {dead[0].reason}"
        if not (waiting := self.pending):
            return ""
        steps = [step for event in waiting for step in self.steps.get(event, ())]
        retries = [step for step in steps if step.kind == "retried"]
        if retries:
            return f"not delivered yet, and tried again: {max(retries).reason}"
        if len({step.event for step in steps}) < len(waiting):
            return "ingest has not received it: see its alarms, and the log of its function"
        return f"queued, but {function} has not tried it: see `bucketcast target ls`, and its log"


def percentile(ascending: Sequence[int], share: float) -> int:
    """Return the value that this share of the values does not exceed, 0 without values."""
    index = max(0, min(len(ascending) - 1, round(share * len(ascending) + 0.5) - 1))
    return ascending[index] if ascending else 0


def summary(trial: Trial) -> Mapping[str, float]:
    """Return the figures of a trial."""
    times = trial.times
    return {
        "count": len(trial.sent),
        "delivered": len(times),
        "per_second": round(trial.rate, 1),
        "p50_ms": percentile(times, 0.5),
        "p99_ms": percentile(times, 0.99),
    }
