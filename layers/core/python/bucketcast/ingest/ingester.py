"""The ingester: takes one batch of the ingress queue to the targets' queues."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from msgspec.structs import force_setattr

from bucketcast.delivery.retries import NO_ANSWER, Term, pause
from bucketcast.destination import Destination, ListenerArn
from bucketcast.ingest.routing import Facts, Routed, RuleLookup, TargetBatch, only, route
from bucketcast.telemetry import logger

CHUNK_CHARACTERS: Final = 1_048_576
"""So much of messages is read and sent on before the next is. What it becomes in memory depends on
how many rules send each event on; a batch of Lambda's may have six times as much."""
_AT_ONCE: Final = 8
_TO_SEND: Final = 10.0
"""Seconds of a batch in which S3 is not waited for: a function that ran out of time before it had
sent everything would send it all again."""


class Incoming(NamedTuple):
    """A message of the ingress queue.

    `sent` is Unix ms, `receives` counts this one too. A successor carries `since` and `tries` of
    its predecessors; `created` is when the first of them was sent. A message with a target's ARN in
    `to` is for that target alone: an envelope is forwarded to its queue, and the events of an S3
    notification, as `bucketcast test` sends them, are routed to it without rules.
    """

    id: str
    receipt: str
    body: str
    sent: int
    receives: int
    since: int = 0
    tries: int = 0
    created: int = 0
    to: str = ""

    @property
    def came(self) -> int:
        return self.created or self.sent

    @property
    def has_records(self) -> bool:
        return self.body.startswith('{"Records"')

    def term(self, now: int) -> Term:
        return Term(now, self.sent, self.receives, self.since, self.tries)

    def successor(self, term: Term) -> "Incoming":
        """Return the message that replaces this one."""
        return self._replace(since=term.started, tries=term.carried_attempts, created=self.came)


class Dead(NamedTuple):
    """A message for the dead-letter queue, and why."""

    message: Incoming
    error: str
    reason: str


class Unsent(NamedTuple):
    """A message that a target's queue did not take, and the messages that it was made from.

    Without a `body`, only those messages themselves can be processed again.
    """

    body: str
    origins: Collection[str]
    reason: str


class Publisher(Protocol):
    """How messages leave a batch; each method returns the indexes of what SQS did not take.

    While `heartbeat` is entered, no other call gets the messages of these receipts. If the function
    is killed, they are visible again after so many seconds.
    """

    def send(self, arn: str, batch: TargetBatch) -> Sequence[Unsent]: ...

    def forward(self, arn: str, body: str) -> Unsent | None: ...

    def send_again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]: ...

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...

    def heartbeat(self, seconds: Mapping[str, int]) -> AbstractContextManager[None]: ...


@dataclass(slots=True)
class IngestResult:
    """The result of a batch.

    `events` were read, `matched` copies of them went to targets, and `broken` messages cannot be
    read by any source.
    """

    stay: set[str] = field(default_factory=set)
    events: int = 0
    matched: int = 0
    broken: int = 0


class Ingester:
    """Takes batches from the ingress queue to the targets' queues."""

    def __init__(self, lookup: RuleLookup, facts: Facts | None, publisher: Publisher) -> None:
        self._rules = lookup
        self._facts = facts
        self._publisher = publisher
        self._pool: ThreadPoolExecutor | None = None
        self._left: Callable[[], float] = lambda: 0.0

    def __call__(
        self,
        messages: Iterable[Incoming],
        now: int,
        remaining: Callable[[], float],
        on_routed: Callable[[Routed], None] = lambda _: None,
    ) -> IngestResult:
        """Process a batch in chunks; `now` is Unix ms, `remaining` returns the seconds left.

        `on_routed` is called with each chunk's events and where they were routed.
        """
        taken = IngestResult()
        self._left = lambda: max(0.0, remaining() - _TO_SEND)
        messages = list(messages)
        terms = {one.id: one.term(now) for one in messages}
        seconds = {one.receipt: terms[one.id].visibility for one in messages}
        with self._publisher.heartbeat(seconds):
            going = self._see_to_age(messages, terms, taken)
            failed = self._forwarded([one for one in going if one.to and not one.has_records])
            for chunk in _chunks(one for one in going if not one.to):
                failed |= self._through(chunk, now, taken, on_routed)
            for arn, chunk in _addressed(one for one in going if one.to and one.has_records):
                failed |= self._through(chunk, now, taken, on_routed, only(arn))
            stay = [one for one in going if one.id in failed]
            pauses = self._keep(stay, failed, terms, taken)
        if pauses:  # after the heartbeat, which would undo them
            self._publisher.postpone(pauses)
        return taken

    def _through(
        self,
        messages: Sequence[Incoming],
        now: int,
        taken: IngestResult,
        on_routed: Callable[[Routed], None],
        lookup: RuleLookup | None = None,
    ) -> dict[str, Exception | str]:
        """Route messages and send their events; return those that must be retried.

        With a `lookup` of their own, S3 is asked nothing about their objects.
        """
        plain = {one.id: one for one in messages}
        facts = None if lookup else self._facts
        bodies = ((one.id, one.body) for one in plain.values())
        routed = route(bodies, lookup or self._rules, facts, self._left)
        failed: dict[str, Exception | str] = {**routed.failed}
        for batch in routed.batches.values():
            for delivery, origin in zip(batch.deliveries, batch.origins, strict=True):
                force_setattr(delivery, "created", plain[origin].came)
            taken.matched += len(batch.deliveries)
        for arn, left in self._sent(routed.batches):
            failed |= self._returned(arn, left, plain, now)
        broken = [Dead(plain[key], "BadEvent", str(why)) for key, why in routed.broken.items()]
        self._dead_letter(broken, taken)
        taken.events += routed.events
        taken.broken += len(broken)
        on_routed(routed)
        return failed

    def _forwarded(self, messages: Sequence[Incoming]) -> dict[str, Exception | str]:
        """Forward addressed messages; return those that their queue did not take."""
        failed: dict[str, Exception | str] = {}
        for one in messages:
            try:
                unsent = self._publisher.forward(one.to, one.body)
            except Exception as error:  # noqa: BLE001 - one message must not stop its neighbours
                failed[one.id] = error
            else:
                if unsent is not None:
                    failed[one.id] = unsent.reason
        return failed

    def _see_to_age(
        self, messages: Sequence[Incoming], terms: dict[str, Term], taken: IngestResult
    ) -> list[Incoming]:
        """Renew old messages, dead-letter those that crash the function; return the others."""
        should_give_up = [one for one in messages if terms[one.id].should_give_up]
        texts = [f"{NO_ANSWER} ({terms[one.id]})" for one in should_give_up]
        self._dead_letter(
            [Dead(one, "Crash", text) for one, text in zip(should_give_up, texts, strict=True)],
            taken,
        )
        gone = {one.id for one in should_give_up}
        expiring = [one for one in messages if terms[one.id].needs_renewal and one.id not in gone]
        refused = self._again([one.successor(terms[one.id]) for one in expiring])
        gone |= {one.id for index, one in enumerate(expiring) if index not in refused}
        return [one for one in messages if one.id not in gone]

    def _sent(self, batches: Mapping[str, TargetBatch]) -> Iterator[tuple[str, Sequence[Unsent]]]:
        """Send each batch: the targets' in turn, then the listeners' in parallel."""
        listeners = [arn for arn in batches if isinstance(Destination.of(arn), ListenerArn)]
        for arn, batch in batches.items():
            if arn not in listeners:
                yield arn, self._publisher.send(arn, batch)
        if listeners:
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE)
            sent = self._pool.map(lambda arn: self._publisher.send(arn, batches[arn]), listeners)
            yield from zip(listeners, sent, strict=True)

    def _returned(
        self, arn: str, left: Sequence[Unsent], plain: dict[str, Incoming], now: int
    ) -> dict[str, str]:
        """Send what a target's queue did not take back to the ingress queue, addressed.

        Return the messages for which that failed too.
        """
        failed: dict[str, str] = {}
        for unsent in left:
            came = min(plain[origin].came for origin in unsent.origins)
            addressed = Incoming("", "", unsent.body, now, 0, now, 1, came, arn)
            if not unsent.body or self._again([addressed], delay=pause(1)):
                failed |= dict.fromkeys(unsent.origins, unsent.reason)
        return failed

    def _again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]:
        return self._publisher.send_again(messages, delay) if messages else set()

    def _dead_letter(self, dead: Sequence[Dead], taken: IngestResult) -> None:
        for one in dead:
            logger.error(
                "a message is dead-lettered", id=one.message.id, error=one.error, reason=one.reason
            )
        refused = self._publisher.dead_letter(dead) if dead else set()
        taken.stay |= {dead[index].message.id for index in refused}

    def _keep(
        self,
        messages: Sequence[Incoming],
        failed: dict[str, Exception | str],
        terms: dict[str, Term],
        taken: IngestResult,
    ) -> dict[str, int]:
        """Dead-letter failed messages at the end of their term; return the pauses of the others."""
        over = []
        pauses = {}
        for one in messages:
            why, term = failed[one.id], terms[one.id]
            error = type(why).__name__ if isinstance(why, Exception) else "Retryable"
            logger.warning("a message is tried again", id=one.id, error=error, reason=str(why))
            if term.expired:
                over.append(Dead(one, error, f"{str(why) or error} ({term})"))
                continue
            taken.stay.add(one.id)
            pauses[one.receipt] = pause(term.tries)
        self._dead_letter(over, taken)
        return pauses


def _chunks(messages: Iterable[Incoming]) -> Iterator[list[Incoming]]:
    chunk: list[Incoming] = []
    size = 0
    for one in messages:
        if chunk and size + len(one.body) > CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
        chunk.append(one)
        size += len(one.body)
    if chunk:
        yield chunk


def _addressed(messages: Iterable[Incoming]) -> Iterator[tuple[str, list[Incoming]]]:
    """Group messages by the target that they are for."""
    by_arn: dict[str, list[Incoming]] = {}
    for one in messages:
        by_arn.setdefault(one.to, []).append(one)
    yield from by_arn.items()
