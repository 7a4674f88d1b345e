"""Compare the end of a run with its plan: lost events, wrong ones, and repeats.

It knows the bucket by its listing, the model by its own, and each injected event by its request. It
uses no code of the targets, of the rules or of the mirrors. A mirror shows only the last event of a
key: whether it was given the others is read from the functions' traces.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bucketcast.delivery.envelope import unpack
from tests.chaos.injected import DIALECT, UNTAKEN, Identity, Injected
from tests.chaos.load import Load
from tests.chaos.log import MODEL_PREFIX, Event, Log
from tests.chaos.operations import remaining
from tests.chaos.plan import Plan
from tests.chaos.traces import delivered
from tests.contract.bucket_listing import shown_by, wrong
from tests.e2e import arrivals
from tests.e2e.all_servers import ID, AllServers
from tests.e2e.system import DeadLetter, Deployed, dead_of
from tests.servers import Arrival
from tests.waiting import last_seen

TRACED_WITHIN = 60.0


@dataclass
class Verdict:
    """The findings at each target, in words; a run is good if `lost` and `wrong` are empty.

    `arrived` counts the different events, or the rows, and `repeats` what came again.
    """

    lost: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)
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
    verdict: Verdict = field(default_factory=Verdict)
    trace_ids: dict[Event, str] = field(default_factory=dict)
    """Of each event that a log has."""
    delivered: Mapping[str, Counter[str]] = field(default_factory=dict)
    """How often a function said of each event that it delivered it, by target's ARN."""

    def __call__(self) -> Verdict:
        bucket, prefix = self.real
        listing = arrivals.bucket(self.system, bucket, prefix)
        planned = {f"{bucket}/{prefix}{key}" for key in remaining(self.plan.real)}
        assert listing.keys() == planned, "the bucket holds what the operations left"
        running = self.all_servers.running
        for kind in self.all_servers.logs:
            log = Log(running[kind].received(), f"{bucket}/{prefix}")
            self.check_log(kind, log, listing)
            self.trace_ids |= log.trace_ids
        for kind in self.all_servers.mirrors:
            self.check_mirror(kind, running[kind].received(), listing)
        self._await_traces()
        for kind in self.all_servers.mirrors:
            self.check_deliveries(kind)
        assert self.verdict.arrived.keys() == self.system.targets.keys(), "each target is judged"
        for target in ("", *self.system.targets):
            self._check_dead_letters(target)
        return self.verdict

    def check_mirror(
        self, kind: str, rows: list[Arrival], listing: Mapping[str, tuple[int, str]]
    ) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        self._report_strangers(name, (row.key for row in rows))
        twice = [key for key, count in Counter(row.key for row in rows).items() if count > 1]
        verdict.add(verdict.wrong, name, (f"{key}: more than one row" for key in twice))
        real = arrivals.as_listed(arrivals.rows_of(rows, "/".join(self.real)))
        verdict.add(verdict.lost, name, listing.keys() - real.keys())
        verdict.add(verdict.wrong, name, real.keys() - listing.keys())
        both = real.keys() & listing.keys()
        differ = [path for path in both if real[path] != listing[path]]
        verdict.add(verdict.wrong, name, (f"{p}: {real[p]}, not {listing[p]}" for p in differ))
        model_rows = {
            row.key.removeprefix(MODEL_PREFIX): shown_by(row.body)
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

    def check_deliveries(self, kind: str) -> None:
        never = (f"{event}: never delivered" for event in self._undelivered(kind))
        self.verdict.add(self.verdict.lost, f"{kind}.{ID}", never)

    def _undelivered(self, kind: str) -> list[Event]:
        """Return what the logs have and the mirror's function never said it delivered."""
        name = f"{kind}.{ID}"
        dead = self.plan.injected.dead.get(name, set())
        wanted = {event: each for event, each in self.trace_ids.items() if event not in dead}
        missing = Counter(wanted.values()) - self.delivered[self.system.targets[name]["arn"]]
        return [event for event, each in wanted.items() if each in missing]

    def _await_traces(self) -> None:
        """Read the traces, and again for a while if some are missing.

        The local AWS logs what a function printed after it has deleted the messages.
        """

        def missing() -> bool:
            self.delivered = delivered(self.system.local.log)
            return any(map(self._undelivered, self.all_servers.mirrors))

        last_seen(missing, lambda seen: not seen, TRACED_WITHIN)

    def check_log(self, kind: str, log: Log, listing: Mapping[str, tuple[int, str]]) -> None:
        verdict, name = self.verdict, f"{kind}.{ID}"
        injected, happened = self.plan.injected, self.load.happened
        wanted = injected.sent_counts.keys() - injected.dead.get(name, set())
        verdict.add(verdict.lost, name, wanted - log.injected)
        verdict.add(verdict.wrong, name, log.injected - wanted)
        verdict.add(verdict.lost, name, (happened - log.happened).elements())
        verdict.add(verdict.wrong, name, (log.happened - happened).elements())
        verdict.add(verdict.wrong, name, log.differing(injected.shown, listing))
        self._report_strangers(name, log.paths)
        verdict.arrived[name] = len(log.copies)
        verdict.repeats[name] = log.copies.total() - len(log.copies)

    def _report_strangers(self, name: str, paths: Iterable[str]) -> None:
        """Report what is of no bucket in which anything happened."""
        buckets = (MODEL_PREFIX, f"{self.real[0]}/")
        strangers = (path for path in paths if not path.startswith(buckets))
        self.verdict.add(
            self.verdict.wrong, name, (f"{path}: no such bucket" for path in strangers)
        )

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
