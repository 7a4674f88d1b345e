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
nothing can be tried        the breaker is open, the target paused: the same, or a large message is
                            hidden, and no try counts
out of time                 sent again at once, and no try counts
an unreadable message       dead-lettered as it is
for a newer release         left to it, until its term is over
at the end of its term      dead-lettered with the last reason: SQS would drop it
==========================  ==================================================================

In a FIFO queue what is sent again would be last: there messages stay, and nothing behind the first
that failed is tried. A message that SQS would soon move or drop is sent again before anything else
is done, so that this also works for a message that crashes the function. A heartbeat keeps all
messages in flight; a killed function's are visible again within seconds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, repeat
from operator import attrgetter

from bucketcast import limits
from bucketcast.delivery.columns import size_of
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.envelope import Delivery, NewerVersion, number_in
from bucketcast.delivery.messages import Batch, Failed, Item, Message, Outcome, Received, Work
from bucketcast.delivery.policy import CRASHED, NO_ANSWER, Policy, Term
from bucketcast.delivery.settlement import Settlement
from bucketcast.delivery.tracing import Outcomes
from bucketcast.delivery.verdict import Step, Wait, of_message, of_wait, too_old
from bucketcast.delivery.whole_messages import WholeMessages
from bucketcast.errors import (
    BadEvent,
    DeliveryError,
    GivenUp,
    OutOfTime,
    Paused,
    Retryable,
    Waiting,
    name_of,
)
from bucketcast.telemetry import logger

_stored = attrgetter("event.stored")
_received = attrgetter("received")
_receives = attrgetter("message.receives")
_NO_TRY = "it waited behind events that the target did not take"


class Engine:
    """Empties one queue; no more records than `chunk_bytes` are opened at once."""

    def __init__(
        self, queue: Consumer, work: Work, *, chunk_bytes: int = limits.CHUNK_BYTES
    ) -> None:
        self._queue = queue
        self._work = work
        self._settlement = Settlement(queue)
        self._whole = WholeMessages(queue)
        self._chunk_bytes = chunk_bytes
        self._last_error: DeliveryError | None = None
        self._marked_at_once = 1
        """As many as a call ended well with: were the function to end, it would begin anew."""

    def __call__(  # noqa: PLR0913 - one invocation, and its observers
        self,
        messages: Iterable[Message],
        policy: Policy,
        *,
        now: int,
        remaining: Callable[[], float],
        total: float | None = None,
        on_begun: Callable[[float], None] = lambda _: None,
        on_outcomes: Callable[[Outcomes], None] = lambda _: None,
    ) -> Outcome:
        """Empty a batch; `now` is Unix ms, `remaining` the seconds left, `total` those it had.

        Messages are opened in chunks, so that not all events are in memory at once; `on_outcomes`
        is called with the outcomes of each chunk. `on_begun` is called before anything is tried,
        with the seconds that the oldest message has waited, unless it is meant to wait.
        """
        policy = policy._replace(in_order=self._queue.in_order)
        batch = Batch(now, remaining, remaining() if total is None else total, policy)
        entries = [Received(message, _term(message, now, policy)) for message in messages]
        oldest = max((entry.waited for entry in entries), default=0) / 1_000
        batch.outcome.oldest = oldest
        seconds = {entry.message.receipt: entry.term.visibility for entry in entries}
        # What was received before may be what a function dies of, and at once.
        repeated = any(entry.message.receives > 1 for entry in entries)
        with self._queue.heartbeat(seconds, 0.0 if repeated else limits.FIRST_HEARTBEAT_SECONDS):
            if due := self._due(entries, batch, on_outcomes):
                obstacle = self._work.begin_batch(policy)
                if oldest > limits.PAUSED_ALARM_AGE_SECONDS or not isinstance(obstacle, Paused):
                    on_begun(oldest)
                if obstacle:
                    self._hold(due, obstacle, batch, on_outcomes)
                else:
                    self._process(due, batch, on_outcomes)
                    if any(map(_is_marked, due)) and not batch.outcome.waiting:
                        twice = 2 * self._marked_at_once
                        self._marked_at_once = min(twice, limits.WINDOW_MESSAGES)
            on_outcomes(batch.outcome.take_outcomes())
        self._whole.postpone(batch)
        return batch.outcome

    def close(self) -> None:
        """Close what the work keeps open."""
        self._work.close()

    def _due(
        self,
        messages: Sequence[Received],
        batch: Batch,
        on_outcomes: Callable[[Outcomes], None],
    ) -> list[Received]:
        """Return the messages that are to be tried, and carry out what is said of the others."""
        steps: dict[Step, list[Received]] = {step: [] for step in Step}
        for received in messages:
            message = received.message
            crashed = message.receives > limits.CRASHED_RECEIVES
            events = number_in(message.body) if crashed else 1
            step = of_message(received, events, gave_up=bool(steps[Step.GIVE_UP]))
            steps[step].append(received)
        for received in steps[Step.KEEP]:
            batch.keep(received, 0)
        self._give_up(steps[Step.GIVE_UP], batch, on_outcomes)
        early = [
            (each, each.message.history, _seconds_early(each)) for each in steps[Step.POSTPONE]
        ]
        self._whole.send(early, batch)
        renewed = [(each, each.term.renewed_history) for each in steps[Step.RENEW]]
        due = steps[Step.TRY] + self._whole.renew(renewed, batch)
        marked = [(each, each.term.crashed_history) for each in steps[Step.MARK]]
        left = self._whole.renew(marked, batch)
        left += [received for received in steps[Step.HALVE] if not self._halve(received, batch)]
        due += left
        if len(left) < len(steps[Step.MARK]) + len(steps[Step.HALVE]):
            # Were the function to end now, what was sent again would be there twice.
            for received in due:
                batch.keep(received, 0)
            return []
        put_off = _at_risk(due, self._marked_at_once, in_order=batch.policy.in_order)
        for number, received in enumerate(put_off, 1):
            later = min(number * limits.MARKED_SECONDS, limits.LONGEST_OUTAGE_PAUSE_SECONDS)
            batch.keep(received, 0 if batch.policy.in_order else later)
        kept = {received.message.receipt for received in put_off}
        return [received for received in due if received.message.receipt not in kept]

    def _halve(self, received: Received, batch: Batch) -> bool:
        try:
            return self._settlement.halve(received, batch)
        except ValueError:
            return False

    def _give_up(
        self, expired: Sequence[Received], batch: Batch, on_outcomes: Callable[[Outcomes], None]
    ) -> None:
        """Dead-letter messages: their events alone if the reason is known, else as they are.

        To open those may be what the function dies of.
        """
        rest = iter([received for received in expired if _has_reason(received)])
        for received in expired:
            if not _has_reason(received):
                self._give_up_whole(received, batch)
        for chunk in self._chunks(rest, batch):
            self._settlement.settle([_given_up(item) for item in chunk], batch)
            on_outcomes(batch.outcome.take_outcomes())
            chunk.clear()  # before the next one is opened
            if batch.remaining() < limits.SETTLE_SECONDS:
                break
        for received in rest:
            batch.keep(received)

    def _give_up_whole(self, received: Received, batch: Batch) -> None:
        if batch.remaining() < limits.SETTLE_SECONDS:
            batch.keep(received)
            return
        last = None
        if not _is_marked(received):
            last = (self._work.find_outage() if batch.policy.in_order else None) or self._last_error
        reason = f"{_reason(last, batch.policy)} ({received.term})"
        error = name_of(last) if last else CRASHED
        self._whole.dead_letter(received, error, reason, batch)

    def _open(self, received: Received, batch: Batch) -> Sequence[Delivery] | None:
        """Return the events of a message; None if it cannot be opened, and was settled."""
        try:
            return self._work.open(received)
        except NewerVersion as error:
            reason: DeliveryError = Retryable(str(error))
        except (ValueError, BadEvent) as error:
            self._whole.dead_letter(received, type(error).__name__, str(error), batch)
            return None
        except Exception as error:  # noqa: BLE001 - a source's own bug must not stop the neighbours
            logger.exception("a message cannot be opened", id=received.message.id)
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        if received.term.expired or (batch.policy.in_order and received.term.expires_soon):
            self._whole.dead_letter(received, name_of(reason), str(reason), batch)
        else:
            batch.outcome.reason = reason
            wait = Wait(received.term.recheck_seconds, stays=batch.policy.in_order)
            self._whole.wait([(received, wait)], reason, batch)
        return None

    def _chunks(self, messages: Iterator[Received], batch: Batch) -> Iterator[list[Item]]:
        """Yield the events of so many messages at a time; none behind what is blocked, in order.

        The caller clears a list when it is done, or two of them are in memory at once.
        """
        chunk: list[Item] = []
        size = 0
        for received in messages:
            deliveries = self._open(received, batch)
            if deliveries is None:
                if batch.policy.in_order and received.message.id in batch.outcome.stay:
                    break
                continue
            chunk += map(Item, repeat(received), deliveries)
            size += sum(map(size_of, map(_stored, deliveries)))
            del deliveries
            if len(chunk) >= limits.CHUNK_EVENTS or size >= self._chunk_bytes:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _process(
        self, due: Sequence[Received], batch: Batch, on_outcomes: Callable[[Outcomes], None]
    ) -> None:
        """Do the work in chunks, and settle what failed.

        What the function may have ended with comes after all others, and apart from them.
        """
        stop: OutOfTime | Waiting | None = None
        rest: list[Received] = []
        for group in [due] if batch.policy.in_order else _apart(due):
            messages = iter(group)
            for chunk in self._chunks(messages, batch) if stop is None else ():
                stop = self._process_chunk(chunk, batch)
                on_outcomes(batch.outcome.take_outcomes())
                chunk.clear()  # before the next one is opened
                if stop is not None:
                    break
            rest += messages
        if stop is None or isinstance(stop, OutOfTime):
            for received in rest:  # without a stop they are behind one that cannot be opened
                batch.keep(received, 0 if stop else received.term.recheck_seconds)
        elif rest:
            self._hold(rest, stop, batch, on_outcomes)

    def _process_chunk(self, chunk: Sequence[Item], batch: Batch) -> OutOfTime | Waiting | None:
        """Do the work for a chunk; return the error that stops the batch."""
        fresh, old = _split(chunk, batch)
        failed, stop = self._work(fresh, batch)
        errors = (each.error for each in failed if not isinstance(each.error, OutOfTime))
        self._last_error = next(errors, self._last_error)
        failed = [*old, *failed]
        self._settlement.settle(failed, batch)
        _count(chunk, failed, batch)
        return stop

    def _hold(
        self,
        messages: Sequence[Received],
        obstacle: Waiting,
        batch: Batch,
        on_outcomes: Callable[[Outcomes], None],
    ) -> None:
        """Let messages wait, merged into as few as possible; large ones are not opened."""
        numbers = [number_in(received.message.body) for received in messages]
        batch.outcome.reason = obstacle
        small = [0 < number < limits.MERGED_EVENTS for number in numbers]
        merges = sum(small) > 1 and not batch.policy.in_order
        large = self._count_large(small, batch)
        opens_all = batch.policy.once or batch.policy.time_to_live
        unopened: list[tuple[Received, Wait]] = []
        opened: list[Received] = []
        for received, number, is_small in zip(messages, numbers, small, strict=True):
            if opens_all or (merges and is_small):
                opened.append(received)
            else:
                unopened.append((received, of_wait(received, number, obstacle, large)))
                batch.outcome.waiting += number
        self._whole.wait(unopened, obstacle, batch)
        rest = iter(opened)
        for chunk in self._chunks(rest, batch):
            fresh, old = _split(chunk, batch)
            failed = [*old, *(item.fail(obstacle) for item in fresh)]
            self._settlement.settle(failed, batch)
            del fresh, old, failed
            on_outcomes(batch.outcome.take_outcomes())
            chunk.clear()  # before the next one is opened
        for received in rest:  # in order, behind one that cannot be opened
            batch.keep(received, received.term.recheck_seconds)

    def _count_large(self, small: Sequence[bool], batch: Batch) -> int:
        """Return how many large messages wait, about; if it is not known, too many to hide one."""
        count = None
        if not all(small) and batch.remaining() >= limits.COUNTED_SECONDS:
            count = self._queue.count()
        return limits.HIDDEN_MESSAGES if count is None else count * small.count(False) // len(small)


def _term(message: Message, now: int, policy: Policy) -> Term:
    policy = policy.for_message(message.history)
    return Term(now, message.sent, message.receives, message.history, policy)


def _given_up(item: Item) -> Failed:
    """Return an event as given up, with the last reason that is known."""
    reason = item.last_reason
    return item.fail(GivenUp(f"{reason} ({item.received.term})", item.last_error, reason))


def _has_reason(received: Received) -> bool:
    """Return True if the reason of its events is known, and it is safe to open it for that."""
    return received.message.history.failed and not _is_marked(received)


def _apart(messages: Sequence[Received]) -> Iterable[Sequence[Received]]:
    """Return messages that are received for the first time, those received again, and a marked."""
    groups: tuple[list[Received], ...] = ([], [], [])
    for received in messages:
        groups[2 if _is_marked(received) else received.message.receives > 1].append(received)
    return filter(None, groups)


def _at_risk(due: Sequence[Received], at_once: int, *, in_order: bool) -> Sequence[Received]:
    """Return the messages beside one that the function may end with: it would take them along.

    Those that were just marked go together: of many, most were only beside one, or the function
    could not start. What it ends with again goes alone.
    """
    if in_order:
        crashed = any(received.message.receives > limits.CRASHED_RECEIVES for received in due)
        return due[1:] if crashed else ()
    marked = sorted(filter(_is_marked, due), key=_receives)
    new = sum(received.message.receives == 1 for received in marked)
    return marked[max(new, at_once) :]


def _is_marked(received: Received) -> bool:
    return received.message.history.error == CRASHED


def _seconds_early(received: Received) -> int:
    """Return the seconds until the pause of a message is over."""
    return -(-(received.message.history.not_before - received.term.now) // 1_000)


def _reason(last: DeliveryError | None, policy: Policy) -> str:
    """Return the reason why an event without a history was not delivered."""
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
    for item in chunk:
        error = too_old(item, batch.now)
        if error is None:
            fresh.append(item)
        else:
            old.append(item.fail(error))
    return fresh, old


def _count(chunk: Sequence[Item], failed: Sequence[Failed], batch: Batch) -> None:
    """Count what was done."""
    missing = {id(failure.delivery) for failure in failed}
    done = [item for item in chunk if id(item.delivery) not in missing] if missing else chunk
    batch.outcome.delivered += len(done)
    delivered = batch.outcome.outcomes.delivered
    for received, items in groupby(done, _received):
        number = received.message.history.tries + 1
        delivered.setdefault(number, []).extend([item.delivery.event for item in items])
