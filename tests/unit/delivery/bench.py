"""An engine between a made-up target and a made-up queue."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bucketcast.delivery.breaker import Breaker, LocalStore, Outage
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.messages import Message, Outcome
from bucketcast.delivery.policy import History, Policy
from bucketcast.delivery.queue import Outgoing
from bucketcast.delivery.sender import Sender
from bucketcast.errors import DeliveryError, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.limits import DAY_MS, TERM_MS
from bucketcast.settings.options import read
from bucketcast.targets import base
from bucketcast.targets.base import options
from tests.unit.samples import event

NOW = 1_800_000_000_000
SENT = NOW - 1_000
AT_ITS_END = NOW - TERM_MS - DAY_MS // 2 - 1
"""Half a day more, and SQS drops what was sent then."""
NEW = History()
PLAIN = Policy()
IN_ORDER = Policy(in_order=True)
ONCE = Policy(once=True)
BUSY = Retryable("busy")
GONE = NotConnected("refused")
WELL = Outage(0, 0, tries=0, counted="", took="")
"""What is known of a target that took an event."""
Answer = Callable[[list[str]], base.Failures]


class Target(base.Target):
    """Answers as configured; records the keys that it was sent and how often it was closed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(read(options.Common, {}))
        self.answer = answer
        self.batches: list[list[str]] = []
        self.closed = 0

    first_alone = False  # the tests of it say otherwise

    @property
    def where(self) -> str:
        return "here"

    def send(self, events: Sequence[Event]) -> base.Failures:
        self.batches.append([event_.key for event_ in events])
        return self.answer(self.batches[-1])

    def probe(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1


class FakeQueue(Consumer):
    """Takes what is sent and dead-lettered, but for what `full` and `no_dead` say."""

    def __init__(self, *, in_order: bool = False) -> None:
        self.in_order = in_order
        self.full = self.no_dead = False
        self.depth: int | None = 0
        self.sent: list[Outgoing] = []
        self.dead: list[Dead] = []
        self.pauses: dict[str, int] = {}
        self.calls: list[int] = []
        self.kept: dict[str, int] = {}
        self.first_beats: list[float] = []

    def send(self, messages: Sequence[Outgoing]) -> set[int]:
        self.calls.append(len(messages))
        if self.full:
            return set(range(len(messages)))
        self.sent += messages
        return set()

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]:
        if self.no_dead:
            return set(range(len(dead)))
        self.dead += dead
        return set()

    def postpone(self, pauses: Mapping[str, int]) -> None:
        self.pauses |= pauses

    def count(self) -> int | None:
        return self.depth

    @contextmanager
    def heartbeat(self, seconds: Mapping[str, int], first: float) -> Iterator[None]:
        self.kept |= seconds
        self.first_beats.append(first)
        yield

    @property
    def back(self) -> list[list[str]]:
        """The keys of each message that was sent back."""
        return [keys_in(message.body) for message in self.sent]

    @property
    def dead_keys(self) -> list[str]:
        return [key for letter in self.dead for key in keys_in(letter.body)]

    @property
    def reasons(self) -> list[str]:
        return [letter.reason for letter in self.dead]


class Bench:
    """An engine between a made-up target and a made-up queue."""

    def __init__(
        self,
        answer: Answer = lambda _: {},
        policy: Policy = PLAIN,
        *,
        batch_size: int = 1_000,
        first_alone: bool = False,
        store: LocalStore | None = None,
        **more: Any,
    ) -> None:
        self.target = Target(answer)
        self.target.first_alone = first_alone
        self.queue = FakeQueue(in_order=policy.in_order)
        self.policy = policy
        self.connections: list[bool] = []
        self.store = store or LocalStore()
        sender = Sender(Connection(self._connect), Breaker(self.store), batch_size)
        self.engine = Engine(self.queue, sender, **more)

    def _connect(self, fresh: bool) -> Target:  # noqa: FBT001 - a connection calls it by place
        self.connections.append(fresh)
        return self.target

    def __call__(
        self, *messages: Message, remaining: Sequence[float] = (), now: int = NOW, **more: Any
    ) -> Outcome:
        """Empty a batch; `remaining` are the seconds whenever it asks, then more than enough."""
        clock = iter(remaining)
        return self.engine(
            messages, self.policy, now=now, remaining=lambda: next(clock, 900.0), **more
        )

    def again(self, *, sent: int = NOW, receives: int = 1) -> list[Message]:
        """Take what was sent back, as SQS would give it."""
        outgoing, self.queue.sent = self.queue.sent, []
        return [
            Message(f"again {n}", f"receipt again {n}", back.body, sent, receives, back.history)
            for n, back in enumerate(outgoing)
        ]


def message(
    name: str,
    keys: str | Sequence[str],
    history: History = NEW,
    *,
    receives: int = 1,
    sent: int = SENT,
    created: int = 0,
) -> Message:
    ((body, _, _),) = pack([Delivery("rule", event(key), created=created) for key in keys])
    return Message(name, f"receipt of {name}", body, sent, receives, history)


def failed(tries: int = 1, reason: str = "refused", since: int = SENT, **more: Any) -> History:
    """The history of what failed so often."""
    return History(since, tries, reason, **{"error": "NotConnected", **more})


def keys_in(body: str) -> list[str]:
    return [delivery.event.key for delivery in unpack(body)]


def everything(error: DeliveryError) -> Answer:
    """Give one answer to all, or this answer to each if it is about the event."""

    def answer(keys: list[str]) -> base.Failures:
        if isinstance(error, NotConnected | Rejected):
            raise error
        return dict.fromkeys(range(len(keys)), error)

    return answer


def only(errors: Mapping[str, DeliveryError]) -> Answer:
    return lambda keys: {index: errors[key] for index, key in enumerate(keys) if key in errors}


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return outcome.delivered, outcome.retried, outcome.dead
