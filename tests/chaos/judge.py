"""Compare the end of a run with its plan: lost events, wrong ones, and repeats by cause.

It knows the bucket by its listing, the model by its own, and each injected event by its request. It
uses no code of the targets, of the rules or of the mirrors.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bucketcast.delivery.envelope import unpack
from bucketcast.event import object_id
from tests.chaos.causes import Traces
from tests.chaos.injected import BUCKET, DIALECT, UNTAKEN, Identity, Injected
from tests.chaos.load import Load
from tests.chaos.plan import Plan
from tests.contract.bucket import NULL
from tests.contract.bucket_listing import VisibleObject, wrong
from tests.e2e import arrivals
from tests.e2e.all_servers import ID, AllServers
from tests.e2e.system import DeadLetter, Deployed, dead_of
from tests.servers import Arrival

MODEL_PREFIX = f"{BUCKET}/"


class LoggedEvent(NamedTuple):
    """An event of the real bucket as a log has it; no two have the same sequencer."""

    name: str
    path: str
    sequencer: str


@dataclass
class Verdict:
    """The findings at each target, in words; a run is good if `lost` and `wrong` are empty.

    `arrived` counts the different events, or the rows, and `repeats` the repeated events by cause.
    """

    lost: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)
    repeats: dict[str, Counter[str]] = field(default_factory=dict)
    dead_letters: dict[str, int] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not any(self.lost.values()) and not any(self.wrong.values())

    def add(self, findings: dict[str, list[str]], target: str, entries: Iterable[object]) -> None:
        """Add entries of a target to `lost` or `wrong`."""
        if texts := sorted(map(str, entries)):
            findings.setdefault(target, []).extend(texts)


@dataclass
class Judge:
    """Everything that a run left behind; `real` is the real bucket with the run's prefix."""

    plan: Plan
    load: Load
    system: Deployed
    all_servers: AllServers
    real: tuple[str, str]
    traces: Traces
    verdict: Verdict = field(default_factory=Verdict)

    def __call__(self) -> Verdict:
        bucket, prefix = self.real
        listing = arrivals.bucket(self.system, bucket, prefix)
        for kind, server in self.all_servers.running.items():
            arrivals_there = server.received()
            if kind in self.all_servers.mirrors:
                self.check_mirror(kind, arrivals_there, listing)
            else:
                self.check_log(kind, arrivals_there)
        for target in ("", *self.system.targets):
            self._check_dead_letters(target)
        return self.verdict

    def check_mirror(
        self, kind: str, rows: list[Arrival], listing: Mapping[str, tuple[int, str]]
    ) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        real = arrivals.as_listed(arrivals.rows_of(rows, "/".join(self.real)))
        verdict.add(verdict.lost, name, listing.keys() - real.keys())
        verdict.add(verdict.wrong, name, real.keys() - listing.keys())
        both = real.keys() & listing.keys()
        differ = [path for path in both if real[path] != listing[path]]
        verdict.add(verdict.wrong, name, (f"{p}: {real[p]}, not {listing[p]}" for p in differ))
        model_rows = {
            row.key.removeprefix(MODEL_PREFIX): _shown(row)
            for row in rows
            if row.key.startswith(MODEL_PREFIX)
        }
        model = self.plan.injected
        bad = wrong(model_rows, model.bucket, DIALECT, model.history)
        if name in model.dead and kind == "postgres":
            bad = {key: pair for key, pair in bad.items() if not key.startswith(UNTAKEN)}
        for key, (row, wanted) in bad.items():
            findings = verdict.lost if row is None else verdict.wrong
            verdict.add(findings, name, [f"{MODEL_PREFIX}{key}: {row}, not {wanted}"])
        verdict.arrived[name] = len(real) + len(model_rows)

    def check_log(self, kind: str, arrived: list[Arrival]) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        events: Counter[Identity | LoggedEvent] = Counter()
        trace_ids: dict[Identity | LoggedEvent, str] = {}
        for arrival in arrived:
            document = json.loads(arrival.body)
            (record,) = document["Records"]
            if event := self._event(document["Key"], record):
                events[event] += 1
                trace_ids[event] = _trace_id(document["Key"], record["eventTime"])
        sent_counts = self.plan.injected.sent_counts
        sent: dict[Identity | LoggedEvent, int] = dict(sent_counts.items())
        refused = self.plan.injected.dead.get(name, set())
        injected = {event for event in events if isinstance(event, Identity)}
        verdict.add(verdict.lost, name, sent_counts.keys() - refused - injected)
        verdict.add(verdict.wrong, name, injected - (sent_counts.keys() - refused))
        happened = Counter(
            (event.name, event.path) for event in events if isinstance(event, LoggedEvent)
        )
        verdict.add(verdict.lost, name, (self.load.happened - happened).elements())
        verdict.add(verdict.wrong, name, (happened - self.load.happened).elements())
        verdict.arrived[name] = len(events)
        arn = self.system.targets[name]["arn"]
        verdict.repeats[name] = Counter(
            cause
            for event, copies in events.items()
            if copies > 1
            for cause in self.traces.causes(arn, trace_ids[event], copies, sent.get(event, 1))
        )

    def _event(self, path: str, record: Any) -> Identity | LoggedEvent | None:
        """Return the event of a log's record; None for one of another run."""
        if path.startswith(MODEL_PREFIX):
            return Identity(path, record["responseElements"]["x-amz-request-id"])
        if path.startswith("/".join(self.real)):
            return LoggedEvent(record["eventName"], path, record["s3"]["object"]["sequencer"])
        return None

    def _check_dead_letters(self, target: str) -> None:
        """Compare a dead-letter queue with the poison, and empty it."""
        verdict, plan = self.verdict, self.plan.injected
        queue = self.system.targets[target]["dead"] if target else dead_of(self.system.ingress)
        name = target or "ingest"
        letters = list(self._letters(queue))
        found = Counter(text for letter in letters for text in _in_letter(letter, plan))
        wanted = {*plan.broken[target], *map(str, plan.dead.get(target, ()))}
        verdict.add(verdict.lost, f"{name}, dead letters", wanted - found.keys())
        verdict.add(verdict.wrong, f"{name}, dead letters", found.keys() - wanted)
        unexplained = [
            letter.body[:200] for letter in letters if not letter.attributes.get("reason")
        ]
        verdict.add(verdict.wrong, f"{name}, dead letters without a reason", unexplained)
        verdict.dead_letters[name] = len(letters)

    def _letters(self, queue: str) -> Iterator[DeadLetter]:
        while count := self.system.depth(queue):
            yield from self.system.dead_letters(queue, count)


def _in_letter(letter: DeadLetter, plan: Injected) -> Iterator[str]:
    """Yield the text that was no event, or the events that could not be delivered."""
    if any(letter.body in texts for texts in plan.broken.values()):
        yield letter.body
        return
    try:
        deliveries = unpack(letter.body)
    except ValueError:
        yield letter.body
        return
    for delivery in deliveries:
        event = delivery.event
        yield str(Identity(f"{event.bucket}/{event.key}", event.request_id))


def _shown(row: Arrival) -> VisibleObject:
    (record,) = json.loads(row.body)["Records"]
    s3_object = record["s3"]["object"]
    return VisibleObject(
        s3_object.get("versionId") or NULL, s3_object.get("eTag", ""), s3_object.get("size", 0)
    )


def _trace_id(path: str, time: str) -> str:
    bucket, _, key = path.partition("/")
    return f"{object_id(bucket, key)}@{time[11:23]}"
