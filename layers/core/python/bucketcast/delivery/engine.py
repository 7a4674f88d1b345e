"""The engine that empties every queue: messages in, what SQS is told of them out.

What is done with their events is a `Work`: ingest routes them, a target is sent them. What becomes
of a message is the same for all, by the policy of its queue or topic (`delivery.policy`):

==========================  ==================================================================
outcome of an event         what happens
==========================  ==================================================================
done                        deleted with its message
`Rejected`                  dead-lettered with its reason, alone
`Retryable`                 sent again in a new message with its history, merged with its like,
                            and visible after a pause
nothing can be tried        the breaker is open, the target paused: the same, and no try counts
out of time                 sent again at once, and no try counts
a message nobody reads      dead-lettered as it is
for a newer release         left to it, until its term is over
at the end of its term      dead-lettered with the last reason: SQS would drop it
==========================  ==================================================================

In a FIFO queue what is sent again would be last: there messages stay, and nothing behind the first
that failed is tried. A message that SQS would soon move or drop is sent again before anything else
is done, so that this also works for a message that crashes the function. A heartbeat keeps all
messages in flight; a killed function's are visible again within seconds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat

from bucketcast import limits
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import Delivery, NewerVersion, number_in
from bucketcast.delivery.messages import Batch, Failed, Item, Message, Outcome, Received, Work
from bucketcast.delivery.policy import NO_ANSWER, History, Policy, Term
from bucketcast.delivery.queue import Outgoing
from bucketcast.delivery.settlement import Actions, Settlement, history_after
from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import (
    BadEvent,
    BreakerOpen,
    DeliveryError,
    GivenUp,
    OutOfTime,
    Paused,
    Retryable,
    Waiting,
    name_of,
)
from bucketcast.telemetry import logger

_NO_TRY = "it waited behind events that the target did not take"


class Engine:
    """Empties one queue; no more records than `chunk_bytes` are opened at once."""

    def __init__(
        self, queue: Actions, work: Work, *, chunk_bytes: int = limits.CHUNK_BYTES
    ) -> None:
        self._queue = queue
        self._work = work
        self._settlement = Settlement(queue)
        self._chunk_bytes = chunk_bytes
        self._last: DeliveryError | None = None

    def __call__(  # noqa: PLR0913 - one invocation, and who is told of it
        self,
        messages: Iterable[Message],
        policy: Policy,
        *,
        now: int,
        remaining: Callable[[], float],
        whole: float | None = None,
        on_begun: Callable[[float], None] = lambda _: None,
        on_outcomes: Callable[[Outcomes], None] = lambda _: None,
    ) -> Outcome:
        """Empty a batch; `now` is Unix ms, `remaining` the seconds left, `whole` those it had.

        Messages are opened in chunks, so that not all events are in memory at once; `on_outcomes`
        is called with the outcomes of each chunk. `on_begun` is called before anything is tried,
        with for how many seconds the oldest message has waited, unless it is meant to wait.
        """
        policy = policy._replace(in_order=self._queue.in_order)
        batch = Batch(now, remaining, remaining() if whole is None else whole, policy)
        received = [Received(one, _term(one, now, policy)) for one in messages]
        oldest = max((one.term.waited for one in received), default=0) / 1_000
        batch.outcome.oldest = oldest
        seconds = {one.message.receipt: one.term.visibility for one in received}
        # What was received before may be what a function dies of, and at once.
        again = any(one.message.receives > 1 for one in received)
        with self._queue.heartbeat(seconds, 0.0 if again else limits.FIRST_BEAT):
            if going := self._due(received, batch, on_outcomes):
                hindrance = self._work.hindrance(policy)
                if oldest > limits.LATE_SECONDS or not isinstance(hindrance, Paused):
                    on_begun(oldest)
                if hindrance:
                    self._hold(going, hindrance, batch, on_outcomes)
                else:
                    self._go(iter(going), batch, on_outcomes)
            on_outcomes(batch.outcome.take_outcomes())
        self._postpone(batch)
        return batch.outcome

    def close(self) -> None:
        """Close what the work keeps open."""
        self._work.close()

    @property
    def is_away(self) -> bool:
        """Whether what the events go to did not answer when it was last tried."""
        return self._work.is_away

    def _due(
        self,
        received: Sequence[Received],
        batch: Batch,
        on_outcomes: Callable[[Outcomes], None],
    ) -> list[Received]:
        """Return the messages that are to be tried.

        In order, none is tried in a call that gave one up: if it crashed the function, the one
        given up would not be deleted, and SQS would count another of its last receives.
        """
        going: list[Received] = []
        expiring: list[Received] = []
        sleeping: list[tuple[Received, History, int]] = []
        over: list[Received] = []
        for one in received:
            term = one.term
            early = -(-(one.message.history.not_before - batch.now) // 1_000)
            if over and batch.policy.in_order:
                batch.stays(one, 0)
            elif term.should_give_up:
                over.append(one)
            elif early > 0 and one.message.history.failed:  # else its term would never begin
                sleeping.append((one, one.message.history, early))
            elif term.needs_renewal:
                expiring.append(one)
            else:
                going.append(one)
        self._give_up(over, batch, on_outcomes)
        self._settlement.send_whole(sleeping, batch)
        return going + self._renew(expiring, batch)

    def _renew(self, expiring: Sequence[Received], batch: Batch) -> list[Received]:
        """Send messages again before SQS moves or drops them; return those that it did not take."""
        left: list[Received] = []
        for start in range(0, len(expiring), limits.TOGETHER):
            some = expiring[start : start + limits.TOGETHER]
            if batch.remaining() < limits.SPARE:
                for one in some:
                    batch.stays(one)
                continue
            again = [Outgoing(one.message.body, history=one.term.renewed) for one in some]
            left += [some[index] for index in sorted(self._queue.send(again))]
        return left

    def _give_up(
        self, over: Sequence[Received], batch: Batch, on_outcomes: Callable[[Outcomes], None]
    ) -> None:
        """Dead-letter messages: their events alone if it is known why, else as they are.

        To open those may be what the function dies of.
        """
        left = iter([one for one in over if one.message.history.failed])
        for one in over:
            if not one.message.history.failed:
                self._give_up_whole(one, batch)
        for chunk in self._chunks(left, batch):
            self._settlement.settle([_given_up(one) for one in chunk], batch)
            on_outcomes(batch.outcome.take_outcomes())
            chunk.clear()  # before the next one is opened
            if batch.remaining() < limits.SPARE:
                break
        for one in left:
            batch.stays(one)

    def _give_up_whole(self, one: Received, batch: Batch) -> None:
        if batch.remaining() < limits.SPARE:
            batch.stays(one)
            return
        last = (self._work.trouble() if batch.policy.in_order else None) or self._last
        reason = f"{_reason(last, batch.policy)} ({one.term})"
        self._whole(one, name_of(last) if last else "Retryable", reason, batch)

    def _whole(self, one: Received, error: str, reason: str, batch: Batch) -> None:
        """Dead-letter a message as it is."""
        batch.outcome.reason = Retryable(reason)
        history = one.message.history
        history = history._replace(created=one.message.created)
        letter = Dead(one.message.body, history, error, reason)
        if self._queue.bury([letter]):
            batch.stays(one, one.term.patience)
        else:
            batch.outcome.dead += number_in(one.message.body)

    def _open(self, one: Received, batch: Batch) -> Sequence[Delivery] | None:
        """Return the events of a message; None if it cannot be opened, and something is done."""
        try:
            return self._work.open(one)
        except NewerVersion as error:
            reason: DeliveryError = Retryable(str(error))
        except (ValueError, BadEvent) as error:
            self._whole(one, type(error).__name__, str(error), batch)
            return None
        except Exception as error:  # noqa: BLE001 - a source's own bug must not stop the neighbours
            logger.exception("a message cannot be opened", id=one.message.id)
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        if one.term.expired or (batch.policy.in_order and one.term.expires_soon):
            self._whole(one, name_of(reason), str(reason), batch)
        else:
            batch.outcome.reason = reason
            self._wait([one], reason, None, batch)
        return None

    def _chunks(self, going: Iterator[Received], batch: Batch) -> Iterator[list[Item]]:
        """Yield the events of so many messages at a time; none behind what is blocked, in order.

        The caller clears a list when it is done, or two of them are in memory at once.
        """
        chunk: list[Item] = []
        size = 0
        for one in going:
            opened = self._open(one, batch)
            if opened is None:
                if batch.policy.in_order and one.message.id in batch.outcome.stay:
                    break
                continue
            chunk += map(Item, repeat(one), opened)
            size += sum(memoryview(each.event.record).nbytes for each in opened)
            del opened
            if len(chunk) >= limits.CHUNK_EVENTS or size >= self._chunk_bytes:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _go(
        self, going: Iterator[Received], batch: Batch, on_outcomes: Callable[[Outcomes], None]
    ) -> None:
        """Do the work in chunks, and settle what failed."""
        stop: DeliveryError | None = None
        pause = None
        for chunk in self._chunks(going, batch):
            stop, pause = self._do(chunk, batch)
            on_outcomes(batch.outcome.take_outcomes())
            chunk.clear()  # before the next one is opened
            if stop is not None:
                break
        left = list(going)
        if stop is None or isinstance(stop, OutOfTime):
            for one in left:  # without a stop they are behind one that cannot be opened
                batch.stays(one, 0 if stop else one.term.patience)
        elif left:
            why = BreakerOpen(str(stop), pause, name_of(stop))
            self._hold(left, why, batch, on_outcomes)

    def _do(self, chunk: Sequence[Item], batch: Batch) -> tuple[DeliveryError | None, int | None]:
        """Do the work for a chunk; return why, and for how long, nothing more is tried, if so."""
        fresh, old = _split(chunk, batch)
        failed, stop, pause = self._work(fresh, batch)
        failed = [*old, *failed]
        self._last = next((one.error for one in failed if one.tried), self._last)
        self._settlement.settle(failed, batch)
        _count(chunk, failed, batch)
        return stop, pause

    def _hold(
        self,
        going: Sequence[Received],
        why: Waiting,
        batch: Batch,
        on_outcomes: Callable[[Outcomes], None],
    ) -> None:
        """Let messages wait, merged into as few as possible; large ones are not opened."""
        numbers = [number_in(one.message.body) for one in going]
        batch.outcome.reason = why
        once = batch.policy.once and isinstance(why, BreakerOpen)
        error = GivenUp(str(why), name_of(why)) if once else why
        small = [0 < number < limits.MERGED_EVENTS for number in numbers]
        merges = sum(small) > 1 and not batch.policy.in_order
        opens = once or batch.policy.time_to_live
        whole, rest = [], []
        for one, number, is_small in zip(going, numbers, small, strict=True):
            if opens or (merges and is_small):
                rest.append(one)
            else:
                whole.append(one)
                batch.outcome.waiting += number
        self._wait(whole, why, why.seconds, batch)
        left = iter(rest)
        for chunk in self._chunks(left, batch):
            fresh, old = _split(chunk, batch)
            self._settlement.settle(
                [*old, *(one.failed(error, tried=once) for one in fresh)], batch
            )
            del fresh, old
            on_outcomes(batch.outcome.take_outcomes())
            chunk.clear()  # before the next one is opened
        for one in left:  # in order, behind one that cannot be opened
            batch.stays(one, one.term.patience)

    def _wait(
        self, some: Sequence[Received], error: DeliveryError, wait: int | None, batch: Batch
    ) -> None:
        """Let messages wait unopened, for so many seconds, or a part of what they waited."""
        waits = [one.term.patience if wait is None else wait for one in some]
        if batch.policy.in_order:
            for one, seconds in zip(some, waits, strict=True):
                batch.stays(one, max(seconds, one.term.patience))
            return
        told = [history_after(one, error, tried=False) for one in some]
        sent = [
            (one, each._replace(created=each.created or one.message.sent), seconds)
            for one, each, seconds in zip(some, told, waits, strict=True)
        ]
        self._settlement.send_whole(sent, batch)

    def _postpone(self, batch: Batch) -> None:
        """Set when messages are visible again; those that there is no time for come back soon.

        Thousands take long. If the function were killed meanwhile, all its work would be repeated.
        """
        pauses = list(batch.pauses.items())
        for start in range(0, len(pauses), limits.POSTPONED):
            if start and batch.remaining() < limits.TO_POSTPONE:
                return
            self._queue.postpone(dict(pauses[start : start + limits.POSTPONED]))


def _term(one: Message, now: int, policy: Policy) -> Term:
    return Term(now, one.sent, one.receives, one.history, policy.of(one.history))


def _given_up(one: Item) -> Failed:
    """Return that an event is given up, with the last reason that is known."""
    known = one.of.message.history
    reason, error = one.delivery.reason or known.reason, one.delivery.error or known.error
    return one.failed(GivenUp(f"{reason} ({one.of.term})", error, reason), tried=False)


def _reason(last: DeliveryError | None, policy: Policy) -> str:
    """Return why an event of which nothing is known was not delivered."""
    if last is None:
        return NO_ANSWER
    behind = policy.in_order and not isinstance(last, Paused)
    return f"{_NO_TRY}: {last}" if behind else str(last)


def _split(chunk: Sequence[Item], batch: Batch) -> tuple[Sequence[Item], list[Failed]]:
    """Return the events that may be tried, and those that are too old."""
    if not batch.policy.time_to_live:
        return chunk, []
    fresh: list[Item] = []
    old: list[Failed] = []
    for one in chunk:
        term = one.of.term
        if term.policy.left(one.delivery.created, batch.now) >= 0:
            fresh.append(one)
            continue
        known = one.of.message.history
        reason, error = one.delivery.reason or known.reason, one.delivery.error or known.error
        text = f"time_to_live of {term.policy.time_to_live} s is over after {known.tries} tries"
        text += f"; at last: {reason}" if reason else ""
        old.append(one.failed(GivenUp(text, error or "Retryable", reason), tried=False))
    return fresh, old


def _count(chunk: Sequence[Item], failed: Sequence[Failed], batch: Batch) -> None:
    """Count what was done."""
    missing = {id(one.delivery) for one in failed}
    left = [one for one in chunk if id(one.delivery) not in missing] if missing else chunk
    done = [one.delivery.event for one in left]
    batch.outcome.delivered += len(done)
    batch.outcome.outcomes.delivered += done
