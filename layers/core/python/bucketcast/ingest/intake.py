"""One batch of the ingress queue: what comes before it is read, its way on, and what failed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from msgspec.structs import force_setattr

from bucketcast.ingest.routing import Facts, Outbox, Routed, Rulebook, route
from bucketcast.listening import is_listener
from bucketcast.retries import Term, pause
from bucketcast.telemetry import logger

PORTION_CHARACTERS: Final = 1_048_576
"""So much of messages is read and sent on before the next is. What it becomes in memory depends on
how many rules send each event on; a batch of Lambda's may have six times as much."""
_AT_ONCE: Final = 8
_NO_ANSWER = "no try came to an end: the function ended before it could say why"


class Incoming(NamedTuple):
    """A message of the ingress queue.

    `sent` is Unix ms, `receives` counts this one too. What it has behind it, if it is the sequel of
    another, is in `since` and `tries`; `created` is when the first of them was sent. One with a
    target's ARN in `to` holds what is to lie on that target's queue.
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

    def term(self, now: int) -> Term:
        return Term(now, self.sent, self.receives, self.since, self.tries)

    def sequel(self, term: Term) -> "Incoming":
        """The message that takes its place."""
        return self._replace(since=term.begun, tries=term.carried, created=self.came)


class Dead(NamedTuple):
    """A message that is not tried any more, and why."""

    message: Incoming
    error: str
    reason: str


class Unsent(NamedTuple):
    """What a target's queue did not take: the message for it, and in which messages it came.

    Where there is no `body`, nothing can be sent again but the messages themselves.
    """

    body: str
    origins: Collection[str]
    reason: str


class Way(Protocol):
    """How messages leave a batch; what SQS did not take is answered by its place in the list."""

    def send(self, arn: str, outbox: Outbox) -> Sequence[Unsent]: ...

    def forward(self, arn: str, body: str) -> Unsent | None: ...

    def send_again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]: ...

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...


@dataclass(slots=True)
class Taken:
    """What became of a batch; `oldest` is for how many seconds its oldest message has waited.

    `events` were read, `matched` is how many copies of them went to targets, and `broken` is how
    many messages no source can read.
    """

    stay: set[str] = field(default_factory=set)
    events: int = 0
    matched: int = 0
    broken: int = 0
    oldest: float = 0.0


class Intake:
    """Takes batches from the ingress queue to the targets' queues."""

    def __init__(self, rulebook: Rulebook, facts: Facts | None, way: Way) -> None:
        self._rulebook = rulebook
        self._facts = facts
        self._way = way
        self._pool: ThreadPoolExecutor | None = None

    def __call__(
        self,
        messages: Iterable[Incoming],
        now: int,
        told: Callable[[Routed], None] = lambda _: None,
    ) -> Taken:
        """Take a batch on its way, a portion at a time; `now` is Unix ms.

        `told` hears of each portion what was read and where it went.
        """
        taken = Taken()
        messages = list(messages)
        terms = {one.id: one.term(now) for one in messages}
        taken.oldest = max((now - term.begun for term in terms.values()), default=0) / 1_000
        going = self._see_to_age(messages, terms, taken)
        failed = self._forwarded([one for one in going if one.to])
        for portion in _portions(one for one in going if not one.to):
            failed |= self._through(portion, now, taken, told)
        self._keep([one for one in going if one.id in failed], failed, terms, taken)
        return taken

    def _through(
        self,
        messages: Sequence[Incoming],
        now: int,
        taken: Taken,
        told: Callable[[Routed], None],
    ) -> dict[str, Exception | str]:
        """Read messages and send on what is in them; the answer are those that have to wait."""
        plain = {one.id: one for one in messages}
        routed = route(((one.id, one.body) for one in plain.values()), self._rulebook, self._facts)
        failed: dict[str, Exception | str] = {**routed.failed}
        for outbox in routed.outboxes.values():
            for delivery, origin in zip(outbox.deliveries, outbox.origins, strict=True):
                force_setattr(delivery, "created", plain[origin].came)
            taken.matched += len(outbox.deliveries)
        for arn, left in self._sent(routed.outboxes):
            failed |= self._returned(arn, left, plain, now)
        broken = [Dead(plain[key], "BadEvent", str(why)) for key, why in routed.broken.items()]
        self._bury(broken, taken)
        taken.events += routed.events
        taken.broken += len(broken)
        told(routed)
        return failed

    def _forwarded(self, messages: Sequence[Incoming]) -> dict[str, Exception | str]:
        """Send what is addressed to a target; the answer are those that its queue did not take."""
        failed: dict[str, Exception | str] = {}
        for one in messages:
            try:
                unsent = self._way.forward(one.to, one.body)
            except Exception as error:  # noqa: BLE001 - one message must not stop its neighbours
                failed[one.id] = error
            else:
                if unsent is not None:
                    failed[one.id] = unsent.reason
        return failed

    def _see_to_age(
        self, messages: Sequence[Incoming], terms: dict[str, Term], taken: Taken
    ) -> list[Incoming]:
        """Renew what SQS would soon move or drop, bury what ends the function, give the others."""
        hopeless = [one for one in messages if terms[one.id].hopeless]
        texts = [f"{_NO_ANSWER} ({terms[one.id]})" for one in hopeless]
        self._bury(
            [Dead(one, "Crash", text) for one, text in zip(hopeless, texts, strict=True)], taken
        )
        gone = {one.id for one in hopeless}
        worn = [one for one in messages if terms[one.id].worn and one.id not in gone]
        refused = self._again([one.sequel(terms[one.id]) for one in worn])
        gone |= {one.id for place, one in enumerate(worn) if place not in refused}
        return [one for one in messages if one.id not in gone]

    def _sent(self, outboxes: Mapping[str, Outbox]) -> Iterator[tuple[str, Sequence[Unsent]]]:
        """Send each what is for it: the targets first, then all listeners at the same time."""
        listeners = [arn for arn in outboxes if is_listener(arn)]
        for arn, outbox in outboxes.items():
            if not is_listener(arn):
                yield arn, self._way.send(arn, outbox)
        if listeners:
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE)
            sent = self._pool.map(lambda arn: self._way.send(arn, outboxes[arn]), listeners)
            yield from zip(listeners, sent, strict=True)

    def _returned(
        self, arn: str, left: Sequence[Unsent], plain: dict[str, Incoming], now: int
    ) -> dict[str, str]:
        """What a target's queue did not take goes back to ours, addressed.

        The answer are the messages for which that is not possible either.
        """
        failed: dict[str, str] = {}
        for unsent in left:
            came = min(plain[origin].came for origin in unsent.origins)
            addressed = Incoming("", "", unsent.body, now, 0, now, 1, came, arn)
            if not unsent.body or self._again([addressed], delay=pause(1)):
                failed |= dict.fromkeys(unsent.origins, unsent.reason)
        return failed

    def _again(self, messages: Sequence[Incoming], delay: int = 0) -> set[int]:
        return self._way.send_again(messages, delay) if messages else set()

    def _bury(self, dead: Sequence[Dead], taken: Taken) -> None:
        for one in dead:
            logger.error(
                "a message is buried", id=one.message.id, error=one.error, reason=one.reason
            )
        refused = self._way.bury(dead) if dead else set()
        taken.stay |= {dead[place].message.id for place in refused}

    def _keep(
        self,
        messages: Sequence[Incoming],
        failed: dict[str, Exception | str],
        terms: dict[str, Term],
        taken: Taken,
    ) -> None:
        """Let what failed be seen again after a pause, or bury it at the end of its term."""
        over = []
        pauses = {}
        for one in messages:
            why, term = failed[one.id], terms[one.id]
            error = type(why).__name__ if isinstance(why, Exception) else "Retryable"
            logger.warning("a message is tried again", id=one.id, error=error, reason=str(why))
            if term.over:
                over.append(Dead(one, error, f"{str(why) or error} ({term})"))
                continue
            taken.stay.add(one.id)
            pauses[one.receipt] = pause(term.tries)
        self._bury(over, taken)
        if pauses:
            self._way.postpone(pauses)


def _portions(messages: Iterable[Incoming]) -> Iterator[list[Incoming]]:
    portion: list[Incoming] = []
    size = 0
    for one in messages:
        if portion and size + len(one.body) > PORTION_CHARACTERS:
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += len(one.body)
    if portion:
        yield portion
