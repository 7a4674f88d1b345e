"""Send dead letters back with a full term of retries, and delete them once they are sent.

Each step begins when the one before it has succeeded:

1. The chosen events are sent, or written to a file. If that fails, their letter stays as it is.
2. The other events of the letter are sent to the same dead-letter queue as a new letter. If that
   fails, the letter stays whole, and the next run sends the chosen events again.
3. The letter is deleted. If that fails, the next run repeats both sends.

So nothing is lost, and events repeat only after a failure of SQS. In the other order, a target's
queue that refuses for long would leave one more copy of the other events with each run; a
dead-letter queue that refuses is rare, and then only the chosen events come twice.

The queue itself is the state: the same command continues an interrupted run. Letters that arrive
after the run began stay, so that an event that always fails does not loop forever. All times are by
SQS's clock, as the times of its messages are.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final

from bucketcast.delivery.queue import SQS_ERRORS, Queue, together
from bucketcast.dlq.aws.queues import DeadQueue
from bucketcast.dlq.aws.reader import Reader
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter
from bucketcast.dlq.repack import Packed, Plan, limit_events, make_plan, remaining_messages, repack
from bucketcast.limits import MESSAGE_EVENTS, SQS_CALL_MESSAGES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_CATCH_UP: Final = 0.25
"""Seconds of delay by calls that a rate makes up for."""


@dataclass(slots=True)
class Result:
    """The results of a run; all but `messages` and `repeatable` count events.

    `moved` were sent or removed, in `messages`. `problems` stay, by reason; `failed` stay by SQS's
    error. `repeatable` messages are still in the queue although their chosen events were sent.
    """

    moved: int = 0
    messages: int = 0
    skipped: int = 0
    repeatable: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Mover:
    """The common part of redrive and purge: read, choose, keep the rest, delete.

    Letters that cannot be read stay, unless `unreadable` ones
    are moved too. `progress` is called after each batch. At most `most` events are moved, but a
    message as its source sent it is not split.
    """

    reader: Reader
    queue: DeadQueue
    sqs: "SQSClient"
    wanted: Filter
    _: KW_ONLY
    progress: Callable[[], None] = lambda: None
    most: int | None = None
    unreadable: bool = False
    result: Result = field(default_factory=Result)

    def run(
        self,
        move: Callable[[Sequence[Plan]], set[str]],
        rate: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Result:
        """Move all chosen letters; `move` returns the ids of the letters that may be deleted.

        With a `rate` it waits after each batch until so many events a second were moved.
        """
        due = time.monotonic()
        for letters in self.reader.batches():
            planned = [plan for letter in letters if (plan := self._plan(letter))]
            plans = [plan for plan in planned if not self._keep_unusable(plan)]
            moved = self._move(self._limit(plans), move)
            self.progress()
            if self.most is not None and self.result.moved >= self.most:
                break
            if rate:
                due = max(due, time.monotonic() - _CATCH_UP) + moved / rate
                sleep(max(0.0, due - time.monotonic()))
        return self.result

    def _limit(self, plans: Sequence[Plan]) -> Sequence[Plan]:
        """Return the plans that may still be moved, the last one cut to the events that may."""
        if self.most is None:
            return plans
        allowed, room = [], self.most - self.result.moved
        for plan in plans:
            if room > 0:
                allowed.append(limit_events(plan, room))
                room -= allowed[-1].number
        return allowed

    def _plan(self, letter: Letter) -> Plan | None:
        plan = make_plan(letter, self.wanted, ingress=self.queue.ingress)
        if plan is None:
            self.result.skipped += 1
        return plan

    def _move(self, plans: Sequence[Plan], move: Callable[[Sequence[Plan]], set[str]]) -> int:
        """Move some letters and return the number of their events."""
        moved_ids = move(plans)
        moved = [plan for plan in plans if plan.letter.id in moved_ids]
        refused = self._return_remaining(moved)
        self.result.repeatable += len(refused)
        self._delete([plan.letter for plan in moved if plan.letter.id not in refused])
        for plan in moved:
            self.result.moved += plan.number
            self.result.messages += 1
            self.result.reasons[plan.letter.reason[:200]] += plan.number
        return sum(plan.number for plan in moved)

    def _return_remaining(self, plans: Sequence[Plan]) -> Mapping[str, str]:
        """Send the remaining events to the dead-letter queue; return errors by the letters' ids."""
        rests = [Packed(rest, [plan]) for plan in plans for rest in remaining_messages(plan)]
        reasons = send_packed(Queue(self.queue.dead, self.sqs), rests)
        for plan in plans:
            if plan.letter.id in reasons:
                self.result.failed[reasons[plan.letter.id]] += len(plan.remaining)
        return reasons

    def _keep_unusable(self, plan: Plan) -> bool:
        kept = bool(plan.problem) and not self.unreadable
        if kept:
            self.result.problems[plan.problem] += plan.number
        return kept

    def _delete(self, letters: Sequence[Letter]) -> None:
        for start in range(0, len(letters), SQS_CALL_MESSAGES):
            batch = letters[start : start + SQS_CALL_MESSAGES]
            failed = self._delete_batch(batch)
            failed = self._delete_batch(failed) if failed else []
            self.result.repeatable += len(failed)
            kept_ids = {letter.id for letter in failed}
            self.reader.forget([letter for letter in batch if letter.id not in kept_ids])

    def _delete_batch(self, letters: Sequence[Letter]) -> list[Letter]:
        """Delete letters; return those that SQS did not delete."""
        try:
            answer = self.sqs.delete_message_batch(
                QueueUrl=self.queue.dead,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": letter.receipt}
                    for index, letter in enumerate(letters)
                ],
            )
        except SQS_ERRORS:
            return list(letters)
        return [letters[int(entry["Id"])] for entry in answer.get("Failed", ())]


def sender(mover: Mover, to: DeadQueue) -> Callable[[Sequence[Plan]], set[str]]:
    """Return a function that sends the events of letters to the queue that `to` belongs to."""
    queue, same_target = Queue(to.own, mover.sqs), to.dead == mover.queue.dead

    def send(plans: Sequence[Plan]) -> set[str]:
        packed = repack(plans, same_target=same_target, most=together(to.own, MESSAGE_EVENTS))
        refused = send_packed(queue, packed)
        for plan in plans:
            if plan.letter.id in refused:
                mover.result.failed[refused[plan.letter.id]] += plan.number
        return {plan.letter.id for plan in plans} - refused.keys()

    return send


def send_packed(queue: Queue, packed: Sequence[Packed]) -> Mapping[str, str]:
    """Send messages; return the errors of those that SQS refused, by the ids of their letters."""
    try:
        refused = queue.send([each.message for each in packed])
    except SQS_ERRORS as error:
        refused = dict.fromkeys(range(len(packed)), str(error))
    return {plan.letter.id: refused[index] for index in refused for plan in packed[index].plans}
