"""Send dead letters back, with a full term again, and delete them once they are sent.

Each step begins when the one before it is done:

1. The chosen events are sent, or written to a file. Refused, their letter stays as it is.
2. Of a letter that holds others too, these are sent to its own queue as a letter of their own.
   Refused, the letter stays whole, and the next run sends the chosen events again.
3. The letter is deleted. It is not where SQS fails at this: the next run repeats both.

So nothing is lost, and only what SQS fails at repeats anything. In the other order a target's queue
that refuses, which may last, would leave one more copy of the others with each run; a dead-letter
queue that refuses is rare, and then it is the chosen events that come twice.

The queue itself is the state, so the same command continues where one ended. Letters that arrive
after the run began stay: a poisonous event that returns would otherwise loop for ever. Times are
SQS's own, since only those are on its messages.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from bucketcast.delivery.envelope import TooLarge
from bucketcast.delivery.queue import SQS_ERRORS, Outgoing, Queue, together
from bucketcast.dlq.aws.reader import Reader
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter
from bucketcast.dlq.rate_limit import RateLimit
from bucketcast.dlq.repack import Plan, first, plan, repacked, rest
from bucketcast.limits import MAX_EVENTS, TOGETHER

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_CLOCK_SECONDS: Final = 1.0
_HOLD_SECONDS: Final = 60
_SHORT_WAIT: Final = 5.0
"""Ten such waits are shorter than the visibility timeout; a longer wait renews it first."""


@dataclass(slots=True)
class Done:
    """The results of a run; all but `messages` and `repeatable` count events.

    `moved` were sent or removed, in `messages`. `problems` stay, by reason; `failed` stay by SQS's
    error. `later` are messages that arrived after the run began. Of `repeatable` messages the
    chosen events were sent, but the message is still there.
    """

    moved: int = 0
    messages: int = 0
    skipped: int = 0
    later: int = 0
    repeatable: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination of letters: the queue, and the ARN of its target, "" for the ingress queue."""

    url: str
    arn: str
    same_target: bool = True


@dataclass(slots=True)
class Mover:
    """The common part of redrive and purge: read, choose, keep the rest, delete.

    `queue` is the URL of the dead-letter queue. Letters that were sent after the run `began` stay,
    and so do those that cannot be read, unless `unreadable` ones are moved too. `progress` is
    called after each batch. No more than `most` events are moved, but for a message that is as its
    source sent it, which goes whole.
    """

    reader: Reader
    queue: str
    sqs: "SQSClient"
    wanted: Filter
    _: KW_ONLY
    ingress: bool
    began: int
    progress: Callable[[Done], None] = lambda _: None
    most: int | None = None
    unreadable: bool = False
    done: Done = field(default_factory=Done)

    def run(
        self,
        act: Callable[[Sequence[Plan]], set[str]],
        limit: RateLimit | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Done:
        """Move all chosen letters; `act` returns the ids of the letters that may be deleted."""
        limit = limit or RateLimit(None)
        for letters in self.reader.batches():
            planned = [each for one in letters if (each := self._plan(one))]
            plans = [each for each in planned if not self._keeps(each)]
            for whole in _portions(plans):
                some = self._within(whole)
                if not some:
                    return self.done
                if (wait := limit.wait()) > 0:
                    if wait > _SHORT_WAIT:
                        waiting = [each.letter for each in plans]
                        self.reader.hide_longer(waiting, round(wait) + _HOLD_SECONDS)
                    sleep(wait)
                limit.spend(self._move(some, act))
            self.progress(self.done)
        return self.done

    def _within(self, plans: Sequence[Plan]) -> Sequence[Plan]:
        """Return what may still be moved, of a letter of many events some of them."""
        if self.most is None:
            return plans
        room = max(0, self.most - self.done.moved)
        return [first(each, room) for each in plans[:room]]

    def _plan(self, letter: Letter) -> Plan | None:
        if letter.sent >= self.began:
            self.done.later += 1
            return None
        found = plan(letter, self.wanted, self.began, ingress=self.ingress)
        if found is None:
            self.done.skipped += 1
        return found

    def _move(self, plans: Sequence[Plan], act: Callable[[Sequence[Plan]], set[str]]) -> int:
        """Move some letters; how many events that were."""
        rests: dict[str, list[Outgoing]] = {}
        for each in plans:
            try:
                rests[each.letter.id] = rest(each)
            except TooLarge as error:
                self.done.problems[str(error)] += each.number
        taken = act([each for each in plans if each.letter.id in rests])
        gone = [each for each in plans if each.letter.id in taken]
        whole = self._put_back(gone, rests)
        self.done.repeatable += len(whole)
        self._delete([each.letter for each in gone if each.letter.id not in whole])
        for each in gone:
            self.done.moved += each.number
            self.done.messages += 1
            self.done.reasons[each.letter.reason[:200]] += each.number
        return sum(each.number for each in gone)

    def _put_back(
        self, plans: Sequence[Plan], rests: Mapping[str, Sequence[Outgoing]]
    ) -> Mapping[str, str]:
        """Send what letters keep to their queue; return why it refused that, by their ids."""
        messages = [(one, each) for each in plans for one in rests[each.letter.id]]
        refused = sent(Queue(self.queue, self.sqs), [one for one, _ in messages])
        why = {messages[index][1].letter.id: reason for index, reason in refused.items()}
        for each in plans:
            if each.letter.id in why:
                self.done.failed[why[each.letter.id]] += len(each.left)
        return why

    def _keeps(self, each: Plan) -> bool:
        kept = bool(each.problem) and not self.unreadable
        if kept:
            self.done.problems[each.problem] += each.number
        return kept

    def _delete(self, letters: Sequence[Letter]) -> None:
        for start in range(0, len(letters), TOGETHER):
            part = letters[start : start + TOGETHER]
            left = self._deleted(part)
            left = self._deleted(left) if left else []
            self.done.repeatable += len(left)
            kept = {each.id for each in left}
            self.reader.gone([each for each in part if each.id not in kept])

    def _deleted(self, letters: Sequence[Letter]) -> list[Letter]:
        """Delete letters; return those that SQS did not delete."""
        try:
            answer = self.sqs.delete_message_batch(
                QueueUrl=self.queue,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": each.receipt}
                    for index, each in enumerate(letters)
                ],
            )
        except SQS_ERRORS:
            return list(letters)
        return [letters[int(entry["Id"])] for entry in answer.get("Failed", ())]


def sender(mover: Mover, to: Destination) -> Callable[[Sequence[Plan]], set[str]]:
    """Return a function that sends the events of letters to a queue."""
    queue = Queue(to.url, mover.sqs)

    def send(plans: Sequence[Plan]) -> set[str]:
        packed = repacked(plans, same_target=to.same_target, most=together(to.url, MAX_EVENTS))
        refused = sent(queue, [one.message for one in packed.messages])
        kept = {
            each.letter.id: reason
            for index, reason in refused.items()
            for each in packed.messages[index].plans
        }
        for each in plans:
            if each.letter.id in packed.failed:
                mover.done.problems[packed.failed[each.letter.id]] += each.number
            elif each.letter.id in kept:
                mover.done.failed[kept[each.letter.id]] += each.number
        return {each.letter.id for each in plans} - kept.keys() - packed.failed.keys()

    return send


def sent(queue: Queue, messages: Sequence[Outgoing]) -> Mapping[int, str]:
    """Send messages; return why SQS did not take some, by their index."""
    try:
        return queue.send(messages)
    except SQS_ERRORS as error:
        return dict.fromkeys(range(len(messages)), str(error))


def server_time(queue: str, sqs: "SQSClient") -> int:
    """Return SQS's time in Unix ms, which no later message precedes.

    It waits until that time. If SQS does not send its time, it is this machine's.
    """
    answer = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    said = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
    try:
        seconds = parsedate_to_datetime(said).timestamp()
    except ValueError:
        return round(time.time() * 1000)
    time.sleep(_CLOCK_SECONDS)  # the header has whole seconds
    return round((seconds + _CLOCK_SECONDS) * 1000)


def _portions(plans: Sequence[Plan]) -> list[Sequence[Plan]]:
    """Group letters of one event; one with many events is sent alone, to keep to the rate."""
    small = [each for each in plans if each.number <= 1]
    return [*([small] if small else []), *([each] for each in plans if each.number > 1)]
