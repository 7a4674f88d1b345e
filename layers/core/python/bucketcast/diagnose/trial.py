"""Synthetic events that try one target: how receivers recognise them, and how they fared."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import msgspec

from bucketcast import sources
from bucketcast.delivery import tracing
from bucketcast.diagnose.steps import QUEUED, Step
from bucketcast.event import Event
from bucketcast.shapes import aws as s3_record

NAME: Final = "bucketcast-test"
"""What each has as principal, and as the beginning of its request id; also the bucket's name unless
another is given, and the rule by which it is sent."""
_ENDS: Final = ("delivered", "dead")


def events(name: str, bucket: str, key: str, count: int) -> list[Event]:
    """Return events as ingest reads them, with keys of their own; "" is a key that nobody has."""
    base = key or f"{NAME}/{uuid4().hex}"
    width = len(str(count))
    keys = [f"{base}-{n:0{width}}" for n in range(1, count + 1)] if count > 1 else [base]
    return [_event(name, bucket, each) for each in keys]


def body(event: Event) -> str:
    """Return the message by which S3 would notify of the event."""
    return f'{{"Records":[{bytes(event.record).decode()}]}}'


def _event(name: str, bucket: str, key: str) -> Event:
    now = time.time()
    made = Event(
        name,
        bucket,
        key,
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z",
        f"{int(now * 1e9):016X}",
        msgspec.Raw(b"{}"),
        0 if name.startswith("s3:ObjectCreated") else None,
        principal=NAME,
        request_id=f"{NAME}-{uuid4().hex}",
        dialect="synthetic",
    )
    (read,) = sources.events(s3_record.message(made).decode())
    return read


@dataclass
class Trial:
    """The steps of sent events; `sent` is when each was sent, in Unix ms by trace id."""

    sent: dict[str, int] = field(default_factory=dict)
    steps: dict[str, set[Step]] = field(default_factory=dict)

    def send(self, events: Iterable[Event], at: int) -> None:
        """Remember when events were sent."""
        self.sent |= {tracing.trace_id(event): at for event in events}

    def take(self, steps: Iterable[Step]) -> None:
        """Add the steps that belong to these events; a known one is not added again."""
        for step in steps:
            if step.event in self.sent:
                self.steps.setdefault(step.event, set()).add(step)

    @property
    def open(self) -> list[str]:
        """The events that have neither arrived nor died."""
        ended = {e for e, steps in self.steps.items() if any(s.what in _ENDS for s in steps)}
        return [event for event in self.sent if event not in ended]

    @property
    def is_complete(self) -> bool:
        """Whether all steps of all events are known."""
        seen = (self.steps.get(event, ()) for event in self.sent)
        return not self.open and all(any(s.what == QUEUED for s in known) for known in seen)

    def of(self, what: str) -> list[Step]:
        return [step for steps in self.steps.values() for step in steps if step.what == what]

    @property
    def times(self) -> list[int]:
        """From being sent to being delivered, in ms, in ascending order."""
        first: dict[str, int] = {}
        for step in self.of("delivered"):
            first[step.event] = min(step.at, first.get(step.event, step.at))
        return sorted(max(at - self.sent[event], 0) for event, at in first.items())

    @property
    def rate(self) -> float:
        """Events per second from the first that was sent to the last that was delivered."""
        ends = [step.at for step in self.of("delivered")]
        seconds = (max(ends) - min(self.sent.values())) / 1000 if ends else 0
        return len(self.times) / seconds if seconds > 0 else 0.0

    def failure(self, function: str) -> str:
        """Return why not all were delivered, "" if they were."""
        if dead := self.of("dead"):
            return f"dead-lettered: {dead[0].why}"
        if not (waiting := self.open):
            return ""
        known = [step for event in waiting for step in self.steps.get(event, ())]
        tried = [step for step in known if step.what == "retried"]
        if tried:
            return f"not delivered yet, and tried again: {max(tried).why}"
        if len({step.event for step in known}) < len(waiting):
            return "ingest has not received it: see its alarms, and the log of its function"
        return f"queued, but {function} has not tried it: see `bucketcast target ls`, and its log"


def percentile(ascending: Sequence[int], share: float) -> int:
    """Return the value that this share of the values does not exceed."""
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
