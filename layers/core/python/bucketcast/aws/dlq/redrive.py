"""Send dead letters back, with a full term again, and delete them once they are sent.

Letters are sent first and deleted then: after an interruption between the two, the next run sends
them again, and nothing is lost. The queue itself is the state, so the same command continues where
one ended. Letters that arrive after the run began stay: a poisonous event that returns would
otherwise loop for ever. Times are SQS's own, since only those are on its messages.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.aws.dlq.rate_limit import RateLimit
from bucketcast.aws.dlq.reader import Reader
from bucketcast.delivery.envelope import TooLarge, unwrapped
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import ADDRESSED, CREATED, Letter
from bucketcast.dlq.repack import Plan, first, plan, repacked, rest
from bucketcast.queues import BATCH, Outgoing, Queue

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
    error. `later` are messages that arrived after the run began. `repeatable` messages were sent
    but not deleted.
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

    @property
    def fifo(self) -> bool:
        return self.url.endswith(".fifo")


@dataclass(slots=True)
class Mover:
    """The common part of redrive and purge: read, choose, keep the rest, delete.

    `queue` is the URL of the dead-letter queue. Letters that were sent after the run `began` stay,
    and so do those that cannot be read, unless `unreadable` ones are moved too. `progress` is
    called after each batch. No more than `most` events are moved, but for a message of the ingress
    queue, which goes whole.
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
        some = plans[:room]
        return some if self.ingress else [first(each, room) for each in some]

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
        taken = act([each for each in plans if self._leave_rest(each)])
        gone = [each for each in plans if each.letter.id in taken]
        self._delete([each.letter for each in gone])
        for each in gone:
            self.done.moved += each.number
            self.done.messages += 1
            self.done.reasons[each.letter.reason[:200]] += each.number
        return sum(each.number for each in gone)

    def _keeps(self, each: Plan) -> bool:
        kept = bool(each.problem) and not self.unreadable
        if kept:
            self.done.problems[each.problem] += each.number
        return kept

    def _leave_rest(self, each: Plan) -> bool:
        """Send the rest of a letter to its queue again; return whether SQS accepted it."""
        if not each.left or self.ingress:
            return True
        try:
            bodies = rest(each, self.began)
        except TooLarge as error:
            self.done.problems[str(error)] += each.number
            return False
        dead_letters = Queue(self.queue, self.sqs)
        messages = [
            _addressed(
                Outgoing(body, attributes=each.letter.attributes),
                dead_letters.url,
                each.letter.id,
                f"{each.letter.id}-{index}",
            )
            for index, body in enumerate(bodies)
        ]
        return not self.sent(dead_letters, messages, [each] * len(messages))

    def sent(
        self, queue: Queue, messages: Sequence[Outgoing], of: Sequence[Plan]
    ) -> dict[int, str]:
        """Send messages; count those SQS refused as failed, and return their indexes."""
        try:
            refused = queue.send(messages)
        except (BotoCoreError, ClientError) as error:
            refused = dict.fromkeys(range(len(messages)), str(error))
        for index, reason in refused.items():
            self.done.failed[reason] += of[index].number
        return refused

    def _delete(self, letters: Sequence[Letter]) -> None:
        for start in range(0, len(letters), BATCH):
            part = letters[start : start + BATCH]
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
        except (BotoCoreError, ClientError):
            return list(letters)
        return [letters[int(entry["Id"])] for entry in answer.get("Failed", ())]


def sender(mover: Mover, to: Destination, sqs: "SQSClient") -> Callable[[Sequence[Plan]], set[str]]:
    """Return a function that sends the events of a target's letters to a target's queue."""
    queue = Queue(to.url, sqs)

    def send(plans: Sequence[Plan]) -> set[str]:
        now = round(time.time() * 1000)
        packed = repacked(plans, now, same_target=to.same_target, single=to.fifo)
        for each in plans:
            if each.letter.id in packed.failed:
                mover.done.problems[packed.failed[each.letter.id]] += each.number
        outgoing = [
            _addressed(Outgoing(one.body), to.url, to.arn, one.token) for one in packed.messages
        ]
        of = [one.plans[0] for one in packed.messages]
        refused = mover.sent(queue, outgoing, of)
        kept = {each.letter.id for index in refused for each in packed.messages[index].plans}
        return {each.letter.id for each in plans} - kept - packed.failed.keys()

    return send


def ingress_sender(
    mover: Mover, to: Destination, sqs: "SQSClient"
) -> Callable[[Sequence[Plan]], set[str]]:
    """Return a function that sends messages to the ingress queue unchanged."""
    queue = Queue(to.url, sqs)

    def send(plans: Sequence[Plan]) -> set[str]:
        refused = mover.sent(queue, [_as_it_came(each.letter) for each in plans], plans)
        return {each.letter.id for index, each in enumerate(plans) if index not in refused}

    return send


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


def _addressed(message: Outgoing, queue: str, group: str, token: str) -> Outgoing:
    """Return the message for its queue; only a FIFO queue has groups."""
    return message._replace(group=group, token=token) if queue.endswith(".fifo") else message


def _as_it_came(letter: Letter) -> Outgoing:
    beside = {
        CREATED: letter.attribute(CREATED) or str(letter.sent),
        ADDRESSED: letter.attribute(ADDRESSED),
    }
    return Outgoing(
        unwrapped(letter.body), attributes={name: text for name, text in beside.items() if text}
    )


def _portions(plans: Sequence[Plan]) -> list[Sequence[Plan]]:
    """Group letters of one event; one with many events is sent alone, to keep to the rate."""
    small = [each for each in plans if each.number <= 1]
    return [*([small] if small else []), *([each] for each in plans if each.number > 1)]
