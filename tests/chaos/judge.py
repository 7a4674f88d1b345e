"""The end of a run beside its plan: what is lost, what is wrong, what came again and why.

It knows the bucket by its listing, the model by its own, and each injected event by its request. No
code of the targets, of the rules or of the mirrors is asked.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bucketcast.delivery import tracing
from bucketcast.delivery.envelope import unpack
from tests.chaos.causes import Traces
from tests.chaos.load import Load
from tests.chaos.made import BUCKET, DIALECT, UNTAKEN, Identity, Made
from tests.chaos.plan import Plan
from tests.contract.bucket import NULL
from tests.contract.bucket_listing import VisibleObject, wrong
from tests.e2e import arrivals
from tests.e2e.system import DeadLetter, Deployed, dead_of
from tests.e2e.ten import ID, Ten
from tests.servers import Arrival

HERE = f"{BUCKET}/"


class LoggedEvent(NamedTuple):
    """An event of the real bucket as a log has it; no two have the same sequencer."""

    name: str
    path: str
    sequencer: str


@dataclass
class Verdict:
    """What was found at each target, in words; a run is good where `lost` and `wrong` are empty.

    `arrived` are the different events that came, or the rows, and `repeats` how often an event came
    again, by cause.
    """

    lost: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)
    repeats: dict[str, Counter[str]] = field(default_factory=dict)
    buried: dict[str, int] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not any(self.lost.values()) and not any(self.wrong.values())

    def note(self, where: dict[str, list[str]], whom: str, what: Iterable[object]) -> None:
        """Add what was found to `lost` or `wrong`."""
        if found := sorted(map(str, what)):
            where.setdefault(whom, []).extend(found)


@dataclass
class Judge:
    """Everything that a run left behind; `real` is the real bucket with the run's prefix."""

    plan: Plan
    load: Load
    system: Deployed
    ten: Ten
    real: tuple[str, str]
    traces: Traces
    verdict: Verdict = field(default_factory=Verdict)

    def __call__(self) -> Verdict:
        bucket, prefix = self.real
        listing = arrivals.bucket(self.system, bucket, prefix)
        for kind, server in self.ten.running.items():
            found = server.received()
            if kind in self.ten.mirrors:
                self.mirror(kind, found, listing)
            else:
                self.log(kind, found)
        for target in ("", *self.system.targets):
            self._dead(target)
        return self.verdict

    def mirror(
        self, kind: str, rows: list[Arrival], listing: Mapping[str, tuple[int, str]]
    ) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        real = arrivals.as_listed(arrivals.rows_of(rows, "/".join(self.real)))
        verdict.note(verdict.lost, name, listing.keys() - real.keys())
        verdict.note(verdict.wrong, name, real.keys() - listing.keys())
        both = real.keys() & listing.keys()
        differ = [path for path in both if real[path] != listing[path]]
        verdict.note(verdict.wrong, name, (f"{p}: {real[p]}, not {listing[p]}" for p in differ))
        made = {
            each.key.removeprefix(HERE): _shown(each) for each in rows if each.key.startswith(HERE)
        }
        model = self.plan.made
        bad = wrong(made, model.bucket, DIALECT, model.history)
        if name in model.dead and kind == "postgres":
            bad = {key: pair for key, pair in bad.items() if not key.startswith(UNTAKEN)}
        for key, (row, wanted) in bad.items():
            where = verdict.lost if row is None else verdict.wrong
            verdict.note(where, name, [f"{HERE}{key}: {row}, not {wanted}"])
        verdict.arrived[name] = len(real) + len(made)

    def log(self, kind: str, found: list[Arrival]) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        events: Counter[Identity | LoggedEvent] = Counter()
        trace_ids: dict[Identity | LoggedEvent, str] = {}
        for arrival in found:
            document = json.loads(arrival.body)
            (record,) = document["Records"]
            if one := self._event(document["Key"], record):
                events[one] += 1
                trace_ids[one] = _mark(document["Key"], record["eventTime"])
        sent_counts = self.plan.made.sent_counts
        sent: dict[Identity | LoggedEvent, int] = dict(sent_counts.items())
        refused = self.plan.made.dead.get(name, set())
        injected = {one for one in events if isinstance(one, Identity)}
        verdict.note(verdict.lost, name, sent_counts.keys() - refused - injected)
        verdict.note(verdict.wrong, name, injected - (sent_counts.keys() - refused))
        happened = Counter((one.name, one.path) for one in events if isinstance(one, LoggedEvent))
        verdict.note(verdict.lost, name, (self.load.happened - happened).elements())
        verdict.note(verdict.wrong, name, (happened - self.load.happened).elements())
        verdict.arrived[name] = len(events)
        arn = self.system.targets[name]["arn"]
        verdict.repeats[name] = Counter(
            cause
            for one, copies in events.items()
            if copies > 1
            for cause in self.traces.causes(arn, trace_ids[one], copies, sent.get(one, 1))
        )

    def _event(self, path: str, record: Any) -> Identity | LoggedEvent | None:
        """Which event a log's record is; None where it is of another run."""
        if path.startswith(HERE):
            return Identity(path, record["responseElements"]["x-amz-request-id"])
        if path.startswith("/".join(self.real)):
            return LoggedEvent(record["eventName"], path, record["s3"]["object"]["sequencer"])
        return None

    def _dead(self, target: str) -> None:
        """What lies in a dead-letter queue beside the poison; it is taken out."""
        verdict, made = self.verdict, self.plan.made
        queue = self.system.targets[target]["dead"] if target else dead_of(self.system.ingress)
        name = target or "ingest"
        letters = list(self._letters(queue))
        found = Counter(one for each in letters for one in _in_letter(each, made))
        wanted = {*made.broken[target], *map(str, made.dead.get(target, ()))}
        verdict.note(verdict.lost, f"{name}, dead letters", wanted - found.keys())
        verdict.note(verdict.wrong, f"{name}, dead letters", found.keys() - wanted)
        unsaid = [each.body[:200] for each in letters if not each.attributes.get("reason")]
        verdict.note(verdict.wrong, f"{name}, dead letters without a reason", unsaid)
        verdict.buried[name] = len(letters)

    def _letters(self, queue: str) -> Iterator[DeadLetter]:
        while count := self.system.depth(queue):
            yield from self.system.dead_letters(queue, count)


def _in_letter(letter: DeadLetter, made: Made) -> Iterator[str]:
    """The texts that were no events, or the events that could not be delivered."""
    if any(letter.body in texts for texts in made.broken.values()):
        yield letter.body
        return
    try:
        deliveries = unpack(letter.body)
    except ValueError:
        yield letter.body
        return
    for each in deliveries:
        event = each.event
        yield str(Identity(f"{event.bucket}/{event.key}", event.request_id))


def _shown(row: Arrival) -> VisibleObject:
    (record,) = json.loads(row.body)["Records"]
    s3_object = record["s3"]["object"]
    return VisibleObject(
        s3_object.get("versionId") or NULL, s3_object.get("eTag", ""), s3_object.get("size", 0)
    )


def _mark(path: str, time: str) -> str:
    bucket, _, key = path.partition("/")
    return f"{tracing.of_object(bucket, key)}@{time[11:23]}"
