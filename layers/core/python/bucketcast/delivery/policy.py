"""The policy of a queue: when a message is tried again, and when it is given up.

==================  ==============================================================================
an event            what happens
==================  ==============================================================================
fails               sent again after a pause that doubles, with its history, for `TERM_DAYS`
fails, in order     its message stays; it is seen again after a part of the time it has waited for
refused, in order   the same for about an hour, whatever its repair: then it is given up
waits               for a target that is down or paused: sent again or hidden, and no try counts
`time_to_live`      too old since it arrived: given up without another try
`retries`           failed once more often: given up; what there was no time for does not count
`once`              failed: lost and counted, without a dead letter
redriven            no limit but the term: `time_to_live` or `retries` would end it at once
==================  ==============================================================================

SQS must not be faster, neither by dropping a message after `RETENTION_DAYS` nor by moving it after
`MAX_RECEIVES`: before either, the message is sent again. This file imports nothing of ours but its
figures: `functions.startup` reads it where the package is missing.
"""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Self

from bucketcast import limits

FIFO: Final = ".fifo"
"""How the name of a queue ends that keeps its messages in order."""
ATTRIBUTE: Final = "bucketcast"
"""The message attribute that holds the history."""
_LARGEST: Final = 1 << 53
CRASHED: Final = "Crashed"
"""The error in the history of a message with which the function ended."""
NO_ANSWER: Final = "no try came to an end: the function ended before it could say why"


def keeps_order(queue: str) -> bool:
    """Return True if a queue keeps its messages in order, by its name, URL or ARN."""
    return queue.endswith(FIFO)


def window(queue: str, seconds: int) -> int:
    """Return the seconds for which Lambda may gather messages of a queue; in order 0."""
    return 0 if keeps_order(queue) else seconds


def visibility(queue: str, timeout: int, *, gathered: int = 0) -> int:
    """Return a queue's visibility timeout for messages that no function began to process.

    `timeout` is the function's, `gathered` the batching window. Messages in process are in flight
    for less (`delivery.heartbeat`). Lambda requires at least `timeout`. In order it is Lambda's own
    advice: later messages must not overtake.
    """
    if keeps_order(queue):
        return limits.VISIBILITY_TIMEOUTS_IN_ORDER * timeout
    waits = max(gathered, limits.QUIET_WINDOW_SECONDS) if gathered else 0
    return waits + timeout + limits.VISIBILITY_MARGIN_SECONDS


def batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes of the messages of each call, by size; too large ones are left out."""
    batch: list[int] = []
    room = limits.MESSAGE_BYTES
    for index, size in enumerate(sizes):
        if size > limits.MESSAGE_BYTES:
            continue
        if batch and (len(batch) == limits.SQS_CALL_MESSAGES or size > room):
            yield batch
            batch, room = [], limits.MESSAGE_BYTES
        batch.append(index)
        room -= size
    if batch:
        yield batch


class History(NamedTuple):
    """The history of a message's events, and their destination; times are Unix ms.

    `since` is when its first predecessor was sent, 0 where it has none, `tries` the number of
    failed tries. `reason` and `error` are the text and class of the last failure. `created` is when
    the first of its events arrived, 0 where `since` or each event tells it. `to` is the ARN of the
    only destination that it is for, `topic` that of the topic whose events it holds. It is not
    tried before `not_before`.
    """

    since: int = 0
    tries: int = 0
    reason: str = ""
    error: str = ""
    created: int = 0
    to: str = ""
    topic: str = ""
    not_before: int = 0
    redriven: bool = False

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the history of an attribute's text; an empty one if it is not of that form."""
        try:
            document: Any = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return cls()
        fields = document.items() if isinstance(document, dict) else ()
        return cls()._replace(**{key: value for key, value in fields if _is_field(key, value)})

    @property
    def json(self) -> str:
        """The attribute's text: JSON of all that is not a default; "" if there is nothing."""
        defaults = self._field_defaults
        fields = {key: value for key, value in self._asdict().items() if value != defaults[key]}
        # Not in ASCII only, where a character may take twelve bytes of a message's.
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) if fields else ""

    @property
    def failed(self) -> bool:
        """Whether a failure, or the reason why nothing was tried, is known."""
        return bool(self.reason)

    def for_redrive(self, created: int = 0) -> Self:
        """Return the history of a dead letter: a redrive of it begins a term, without limits."""
        return type(self)(
            created=self.created or created, to=self.to, topic=self.topic, redriven=True
        )


def _is_field(key: str, value: Any) -> bool:
    if type(value) is not type(History._field_defaults.get(key)):
        return False
    return not isinstance(value, int) or 0 <= value <= _LARGEST


class Policy(NamedTuple):
    """The limits of a queue, or of a topic; times are seconds, 0 is no limit.

    `pause` is the fixed pause between tries, None one that grows. `retries` counts those after the
    first try. With `once` no try follows the first. `in_order` is a queue's whose next event goes
    only when the one before has been delivered or dead-lettered.
    """

    time_to_live: int = 0
    retries: int = 0
    pause: int | None = None
    once: bool = False
    in_order: bool = False

    def for_message(self, history: History) -> "Policy":
        """Return the policy of a message: those redriven have no limits of time or tries."""
        unlimited = Policy(once=self.once, in_order=self.in_order)
        return unlimited if history.redriven else self

    def seconds_left(self, created: int, now: int) -> float:
        """Return the seconds until an event of `created` is too old; both are Unix ms."""
        if not self.time_to_live:
            return float("inf")
        return self.time_to_live - (now - created) / 1_000


class Term(NamedTuple):
    """The time and the tries of a message so far; `now` and `sent` are Unix ms.

    `sent` and `receives` come from SQS.
    """

    now: int
    sent: int
    receives: int
    history: History
    policy: Policy

    @property
    def age(self) -> int:
        """The ms since it was first sent, whether it was tried or not."""
        return max(0, self.now - self.first_sent)

    @property
    def first_sent(self) -> int:
        """When it was first sent.

        It is sent again before SQS would drop it. One that was sent later came from elsewhere.
        """
        since = self.history.since
        ours = since and 0 <= self.sent - since <= limits.RETENTION_DAYS * limits.DAY_MS
        return since if ours else self.sent

    @property
    def started(self) -> int:
        """When its term began: a message that only waited begins it with its first try."""
        known = self.history.failed or self.history.tries
        return self.first_sent if known else self.sent

    @property
    def expired(self) -> bool:
        """Whether the message is given up if it fails now."""
        return self.now - self.started > limits.TERM_MS

    def is_over(self, *, refused: bool) -> bool:
        """Return True if the message is given up when it fails now, `refused` or not.

        In order one that is refused holds up all others, so that it is given up after an hour. Its
        first try is not known; its receives leave one that waited for long some tries.
        """
        held_up = self.policy.in_order and self.age > limits.HELD_UP_MS
        tried = self.receives > limits.CRASHED_RECEIVES
        return self.expired or (refused and held_up and tried)

    @property
    def expires_soon(self) -> bool:
        """Whether SQS drops the message within half a day."""
        return self.now - self.sent > limits.LAST_CALL_MS

    @property
    def should_give_up(self) -> bool:
        """Whether to dead-letter the message without another try.

        True if a failure is known, or if after so many receives the function must be crashing. A
        message that was never tried is tried first.
        """
        crashing = self.receives > limits.CRASHED_RECEIVES
        if self.policy.once:
            return crashing
        if self.policy.in_order:
            return self.expired and self.expires_soon
        late = self.now - self.started > limits.LAST_CALL_MS
        return self.expired and (self.history.failed or (late and crashing))

    @property
    def needs_renewal(self) -> bool:
        """Whether SQS would soon move or drop the message, where it can be sent again."""
        due = self.receives >= limits.RENEW_AFTER_RECEIVES or self.expires_soon
        return due and not self.policy.in_order

    @property
    def renewed_history(self) -> History:
        """The history of the message when it is sent again before anything else is done."""
        if self.receives < limits.RENEW_AFTER_RECEIVES:
            return self.waiting_history
        # Its tries ended with the function and were not counted; its term goes on all the same.
        return self.waiting_history._replace(since=self.started, tries=max(1, self.history.tries))

    @property
    def crashed_history(self) -> History:
        """The history of the message of a lone event with which the function ended."""
        return self.renewed_history._replace(since=self.started, reason=NO_ANSWER, error=CRASHED)

    @property
    def waiting_history(self) -> History:
        """The history of the message when it is sent again because it could not be tried.

        Its term has not begun.
        """
        created = self.history.created or self.sent
        return self.history._replace(since=self.first_sent, created=created, not_before=0)

    @property
    def visibility(self) -> int:
        """The seconds after which the message is visible again if the function is killed now.

        They double with every receive: it may be the message that crashes the function.
        """
        doubled = 1 << min(max(self.receives - 1, 0), 16)
        marked = self.history.error == CRASHED
        longest = limits.LONGEST_PAUSE_SECONDS if marked else limits.LONGEST_VISIBILITY_SECONDS
        seconds = min(max(doubled, limits.SHORTEST_VISIBILITY_SECONDS), longest)
        return max(seconds, self.recheck_seconds) if self.policy.in_order else seconds

    @property
    def recheck_seconds(self) -> int:
        """The seconds until a waiting message is looked at again: a part of its age."""
        longest = (
            limits.LONGEST_PAUSE_IN_ORDER_SECONDS
            if self.policy.in_order
            else limits.LONGEST_DELAY_SECONDS
        )
        return self.part_of_age(longest)

    def part_of_age(self, longest: int) -> int:
        """Return a part of its age in seconds, at most so many."""
        return min(max(self.age // limits.AGE_PER_PAUSE // 1_000, 1), longest)

    def pause(self, *, tries: int, after: float = 0.0) -> int:
        """Return the seconds until the next try, after so many; at least the `after` asked for."""
        if self.policy.in_order:
            return max(self.recheck_seconds, min(round(after), limits.LONGEST_DELAY_SECONDS))
        if self.policy.pause is not None:
            return max(self.policy.pause, 1)
        return pause(tries, after)

    def describe(self, tries: int) -> str:
        """Return the text with which it is given up after so many tries."""
        days = (self.now - self.started) // limits.DAY_MS
        tried = self.receives if self.policy.in_order else tries
        return f"given up after {days} days and {tried} tries"

    def __str__(self) -> str:
        return self.describe(self.history.tries)


def pause(tries: int, after: float = 0.0) -> int:
    """Return the seconds until the next try: 1, 2, 4 … an hour, minus up to a half.

    At least the `after` that the target asked for, plus up to a quarter. The jitter keeps messages
    that failed together from being retried together.
    """
    grown = min(2.0 ** min(max(tries, 1) - 1, 12), limits.LONGEST_PAUSE_SECONDS)
    spread = grown * random.uniform(0.5, 1)  # noqa: S311 - spread, not secrecy
    wanted = max(after, 0.0) * random.uniform(1, 1.25)  # noqa: S311
    return round(max(spread, min(wanted, limits.LONGEST_DELAY_SECONDS), 1))
