"""Targets that answer each event as a behaviour has it, on the simulated clock.

Only the network and the server are made up: a webhook's batch with its limiter, a table's halving
and its sweep, and the meaning of each answer are the product's own.
"""

import enum
import heapq
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, NoReturn

import pycurl
from confluent_kafka import KafkaError

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.targets import base
from bucketcast.targets.base.tables import LOCK_SECONDS, TableTarget
from bucketcast.targets.kafka import errors as kafka
from bucketcast.targets.kafka.client import STALLED_SECONDS
from bucketcast.targets.kafka.settings import KafkaSettings
from bucketcast.targets.postgres.answers import ANSWERS
from bucketcast.targets.webhook import errors as webhook
from bucketcast.targets.webhook.batch import Batch
from bucketcast.targets.webhook.limiter import Limiter
from bucketcast.targets.webhook.settings import WebhookSettings
from bucketcast.targets.webhook.signature import Signer
from tests.unit.simulation.delivering import Scripted
from tests.unit.simulation.lambdas import CrashError

QUICK = 0.05
"""Seconds that a healthy server takes."""
SLOW = 100 * QUICK
STATEMENT_SECONDS = 15.0
"""PostgreSQL's `statement_timeout`, as the target sets it."""


class Answer(enum.Enum):
    """What a server does with an event."""

    TAKEN = enum.auto()
    SLOW = enum.auto()
    SILENT = enum.auto()
    DOWN = enum.auto()
    LOGIN = enum.auto()
    REFUSED = enum.auto()
    ROW = enum.auto()
    TOO_LARGE = enum.auto()
    BUSY = enum.auto()
    THROTTLED = enum.auto()
    LOCKED = enum.auto()
    LEADERLESS = enum.auto()
    READ_ONLY = enum.auto()
    CRASH = enum.auto()


Behaviour = Callable[[str, float], Answer]
"""The answer to an event of this key, so many seconds after the simulation began."""


class Server:
    """What is behind a target: it answers, and `log` has what it was asked and what it took."""

    def __init__(self, log: Scripted, behaviour: Behaviour) -> None:
        self.clock = log.clock
        self._log = log
        self._behaviour = behaviour

    def ask(self, events: Sequence[Event]) -> list[Answer]:
        """Return the answer to each event, or end the function that sends it."""
        self._log.sends += 1
        self._log.tried.update(map(_name, events))
        answers = [self.answer(event.key) for event in events]
        if Answer.CRASH in answers:
            raise CrashError
        return answers

    def answer(self, key: str) -> Answer:
        return self._behaviour(key, self.clock.since_start)

    def take(self, events: Sequence[Event]) -> None:
        self._log._take(map(_name, events))


def _name(event: Event) -> str:
    return f"{event.key} {event.rule}"


class _Flying(NamedTuple):
    """A request: when its answer comes, or its time is up."""

    ends: float
    position: int
    began: float
    answer: Answer


class Webhook(base.Target):
    """A webhook, a request an event."""

    arn_type = "webhook"
    settings: WebhookSettings
    _STATUSES: ClassVar = {
        Answer.LOGIN: 401,
        Answer.REFUSED: 422,
        Answer.TOO_LARGE: 413,
        Answer.BUSY: 503,
        Answer.THROTTLED: 429,
        Answer.READ_ONLY: 500,
        Answer.LOCKED: 500,
        Answer.ROW: 404,
    }

    def __init__(self, server: Server, settings: WebhookSettings | None = None) -> None:
        super().__init__(settings or read(WebhookSettings, {"endpoint": "http://there/hook"}))
        self._server = server
        self._limiter = Limiter(self.settings.in_flight)

    @property
    def max_send_seconds(self) -> float:
        return 2 * float(self.settings.timeout)

    @property
    def where(self) -> str:
        return self.settings.endpoint

    def send(self, events: Sequence[Event]) -> base.Failures:
        clock, seconds = self._server.clock, float(self.settings.timeout)
        batch = Batch(events, lambda _: (b"", []), [], seconds, Signer(""), self._limiter)
        flying: list[_Flying] = []
        while True:
            limit = self._limiter.limit
            for index, *_ in batch.take(limit - len(flying), clock.now):
                (answer,) = self._server.ask([events[index]])
                ends = clock.now + min(_seconds(answer), seconds)
                heapq.heappush(flying, _Flying(ends, index, clock.now, answer))
            if not flying:
                return batch.failures()
            full = len(flying) >= limit
            clock.now = flying[0].ends
            self._finish(batch, events, [*_landed(flying, clock.now)], full=full)

    def _finish(
        self, batch: Batch, events: Sequence[Event], landed: Sequence[_Flying], *, full: bool
    ) -> None:
        delivered = [one for one in landed if one.answer in (Answer.TAKEN, Answer.SLOW)]
        for one in landed:
            if one not in delivered:
                batch.fail(one.position, self._STATUSES.get(one.answer, 0), self._error(one.answer))
        if delivered:
            self._server.take([events[one.position] for one in delivered])
            batch.succeed([one.position for one in delivered])
            self._limiter.record_success([one.ends - one.began for one in delivered], full=full)

    def _error(self, answer: Answer) -> DeliveryError:
        if status := self._STATUSES.get(answer):
            pause = 30 if answer is Answer.THROTTLED else 0
            told = {pycurl.RETRY_AFTER: pause}
            handle = SimpleNamespace(getinfo=told.get, getinfo_raw=told.get)
            return webhook.refusal(self.settings, handle, status, b"")
        timed_out = answer is Answer.SILENT
        code = pycurl.E_OPERATION_TIMEDOUT if timed_out else pycurl.E_COULDNT_CONNECT
        text = "Operation timed out" if timed_out else "Could not connect to server"
        return webhook.connection_error(self.settings, code, text, guard=None)

    def probe(self) -> NoReturn:
        raise NotImplementedError

    def close(self) -> None:
        self._limiter.restart()


def webhooks(log: Scripted, behaviour: Callable[[str], Answer]) -> type[Webhook]:
    """Return webhooks that behave by the last part of their endpoints."""

    class Hook(Webhook):
        Settings = WebhookSettings
        client = "json"

        def __init__(self, settings: WebhookSettings) -> None:
            name = settings.endpoint.rpartition("/")[2]
            super().__init__(Server(log, lambda *_: behaviour(name)), settings)

    return Hook


def _landed(flying: list[_Flying], now: float) -> Iterator[_Flying]:
    while flying and flying[0].ends <= now:
        yield heapq.heappop(flying)


class Brokers(base.Target):
    """Kafka: many partitions, each of which confirms its events."""

    arn_type = "kafka"

    def __init__(self, server: Server) -> None:
        super().__init__(SimpleNamespace(shape="minio", opaque_data=""))
        self._server = server

    @property
    def where(self) -> str:
        return "there, topic events"

    def send(self, events: Sequence[Event]) -> base.Failures:
        answers, began = self._server.ask(events), self._server.clock.now
        refused = {n: answer for n, answer in enumerate(answers) if answer not in _TAKEN}
        for seconds in sorted(set(map(_seconds, answers))):
            self._server.clock.now = began + min(seconds, self.timeout)
            by_now = [n for n, answer in enumerate(answers) if _seconds(answer) == seconds]
            self._server.take([events[n] for n in by_now if n not in refused])
        return {n: self._error(answer) for n, answer in refused.items()}

    def _error(self, answer: Answer) -> DeliveryError:
        if answer is Answer.LEADERLESS:
            return kafka.unled(self.where)
        told = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS)
        return kafka.refusal(told, read(KafkaSettings, {"brokers": "h", "topic": "t"}), self.where)

    def probe(self) -> NoReturn:
        raise NotImplementedError

    def close(self) -> None: ...


class _ServerError(Exception):
    """PostgreSQL's, as its client raises it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__({"C": code, "M": text})


class Table(TableTarget[Any]):
    """A mirror in PostgreSQL: a batch is one transaction, and so gets one answer."""

    arn_type = "postgresql"
    _ERRORS: ClassVar = {
        Answer.SILENT: ("57014", "canceling statement due to statement timeout"),
        Answer.LOCKED: ("55P03", "canceling statement due to lock timeout"),
        Answer.LOGIN: ("28P01", "password authentication failed"),
        Answer.READ_ONLY: ("25006", "cannot execute INSERT in a read-only transaction"),
        Answer.BUSY: ("53200", "out of memory"),
        Answer.THROTTLED: ("53300", "too many connections"),
        Answer.ROW: ("23514", "violates check constraint"),
        Answer.REFUSED: ("22P05", "unsupported Unicode escape sequence"),
    }

    def __init__(self, server: Server) -> None:
        table = {"shape": "minio", "opaque_data": "", "table": "t", "format": "namespace"}
        super().__init__(SimpleNamespace(**table))
        self._server = server

    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        answers = self._server.ask(events)
        self._server.clock.now += min(max(map(_seconds, answers)), STATEMENT_SECONDS)
        for answer in answers:
            if answer in _TAKEN:
                continue
            found = self._ERRORS.get(answer)
            error = ANSWERS.of(_ServerError(*found) if found else OSError("refused"), "there")
            if error.alone:
                return error
            raise error
        self._server.take(events)
        return None

    def _locked_keys(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if self._server.answer(key.partition("/")[2]) is Answer.LOCKED]

    def _sweep(self, limit: int) -> int:  # noqa: ARG002
        return 0

    def _connect(self) -> NoReturn:
        raise NotImplementedError

    def _address(self) -> str:
        return "there"

    def probe(self) -> NoReturn:
        raise NotImplementedError

    def _find(self, connection: Any) -> None:
        raise NotImplementedError

    _prepare = _find

    def _execute(self, *_: Any) -> None:
        raise NotImplementedError


_TAKEN = (Answer.TAKEN, Answer.SLOW)


def _seconds(answer: Answer) -> float:
    """Return how long the answer takes, if nobody gives up."""
    return {
        Answer.SILENT: 1_000_000,
        Answer.LOCKED: LOCK_SECONDS,
        Answer.LEADERLESS: STALLED_SECONDS,
        Answer.SLOW: SLOW,
    }.get(answer, QUICK)
