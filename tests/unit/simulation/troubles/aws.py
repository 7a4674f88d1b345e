"""The rows of "AWS": hours of the whole way of events, in one of which a service fails."""

from collections.abc import Callable
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from botocore.exceptions import ReadTimeoutError

from bucketcast.aws import function_clients, secrets
from bucketcast.limits import AWS_CALL_LIMITS
from bucketcast.rules import Rule, RuleIndex
from bucketcast.state.breakers import Breakers
from bucketcast.targets import base
from tests.unit.moto_aws import refusal
from tests.unit.samples import event
from tests.unit.simulation.ingesting import HOOK, Actions, Ingesting
from tests.unit.simulation.lambdas import Clock, Simulation
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Webhook
from tests.unit.simulation.troubles.scenes import Troubled

BEGIN = 10 * MINUTE
END = BEGIN + HOUR
EVERY = 5
REFUSED = 0.5
"""The share of calls that a service refuses while it throttles."""
TRIES = AWS_CALL_LIMITS["retries"]["total_max_attempts"]
SECONDS = AWS_CALL_LIMITS["read_timeout"] * TRIES
OPTIONAL_SECONDS = 2 * TRIES
"""What `function_clients.OPTIONAL_CALL` waits for an answer."""


RULES = {"uploads": RuleIndex([Rule(bucket="uploads", arn=HOOK, events=("s3:ObjectCreated:*",))])}


class Service:
    """A service that is away, or refuses half of its calls, for an hour."""

    def __init__(self, clock: Clock, *, away: bool, spares_pollers: bool = False) -> None:
        self._clock = clock
        self._away = away
        self._spares_pollers = spares_pollers
        self._random = Random(0)  # noqa: S311 - a repeatable order

    def error(self, operation: str, seconds: float = SECONDS) -> Exception | None:
        """Return the error of a call, after the time that it takes."""
        is_poller = operation == "ReceiveMessage" or not self._clock.wait
        if not BEGIN <= self._clock.since_start < END or (is_poller and self._spares_pollers):
            return None
        if not self._away:
            is_retried = is_poller and operation != "ReceiveMessage"  # until it is taken
            refused = not is_retried and self._random.random() < REFUSED
            return refusal("ThrottlingException", operation) if refused else None
        if not is_poller:  # which takes no time of a function
            self._clock.now += seconds
        return ReadTimeoutError(endpoint_url="https://service")

    def ask(self, operation: str, seconds: float = SECONDS) -> None:
        if error := self.error(operation, seconds):
            raise error


class Items:
    """A table with the item of a breaker, of which nothing is written but that the target took."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._item: dict[str, Any] = {}

    def get_item(self, **_: Any) -> Any:
        self._service.ask("GetItem", OPTIONAL_SECONDS)
        return {"Item": self._item}

    def update_item(self, *, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803
        self._service.ask("UpdateItem", OPTIONAL_SECONDS)
        self._item["counted"] = ExpressionAttributeValues[":took"]
        return {"Attributes": self._item}


class Way(Ingesting):
    """From S3's message to a webhook; `dynamodb` is asked for the rules."""

    rules = RULES

    def __init__(self, make: Callable[[Simulation], Troubled]) -> None:
        super().__init__(max_concurrency=4, grain=0.5)
        self.dynamodb: Service | None = None
        self.one = make(self.simulation)
        self.simulation.sqs.queues[self.hook.name] = self.one.queue

    def look_up(self, buckets: frozenset[str]) -> Any:
        if self.dynamodb:
            self.dynamodb.ask("BatchGetItem")
        return super().look_up(buckets)

    def put(self, key: str) -> None:
        """What S3 does."""
        (hit,) = self.rules["uploads"].match(event(key))
        name = f"{key} {hit.rule}"
        self.one.sent[name] += 1
        self.one.put_at[name] = self.simulation.clock.now
        with patch.object(self.simulation.sqs, "trouble", lambda _: None):  # S3 tries again
            self.send(key)


class WithSecret(Troubled):
    """A webhook whose token is in Secrets Manager."""

    service: Service

    def connector(self) -> Callable[[bool], base.Target]:
        def read(**_: Any) -> Any:
            self.service.ask("GetSecretValue")
            return {"SecretString": "token"}

        client = SimpleNamespace(get_secret_value=read)
        with patch.object(function_clients, "client", lambda _: client):
            reader = secrets._Reader()
        connect = super().connector()

        def with_token(fresh: bool) -> base.Target:  # noqa: FBT001 - as a connection calls it
            with patch.object(secrets, "_reader", lambda: reader):
                secrets.resolve({"auth_token": "secret:hook"}, fresh=fresh)
            return connect(fresh)

        return with_token


def of_a_service(name: str, *, away: bool, spares_pollers: bool = False) -> Seen:
    """Play two hours, in one of which a service is away, or refuses every second call.

    Or only functions cannot reach it, but Lambda's pollers can.
    """
    kind = WithSecret if name == "secrets" else Troubled
    way = Way(lambda beside: kind(Webhook, lambda *_: Answer.TAKEN, beside=beside))
    one = way.one
    service = Service(way.simulation.clock, away=away, spares_pollers=spares_pollers)
    if isinstance(one, WithSecret):
        one.service = service
    elif name == "sqs":
        way.simulation.sqs.trouble = service.error
    else:
        way.dynamodb = service
        table: Any = Items(service)
        one.book = Breakers("state", lambda: table).of(one.arn)
    todo: Actions = {}
    refuses_s3 = name == "sqs" and away and not spares_pollers
    for at in range(0, round(END + HOUR), EVERY):
        is_late = refuses_s3 and BEGIN <= at < END  # S3 tries until SQS takes it
        todo[END + at / DAY if is_late else at + 0.5] = partial(way.put, f"{at}")
    for at in range(round(BEGIN), round(END), 5 * MINUTE):
        todo[at + 0.1] = one.function.idle.clear  # Lambda begins others
    return _seen(way, todo)


def _seen(way: Way, todo: Actions) -> Seen:
    one, start = way.one, way.simulation.clock.now
    way.simulation.run(days=(END + 2 * HOUR) / DAY, actions=todo)
    put_at = {name: at - start for name, at in one.put_at.items()}
    waited = [name for name, at in put_at.items() if BEGIN <= at <= END + 1]
    hours = (END + 2 * HOUR) / HOUR
    return Seen(
        one.delays(name for name in put_at if name not in waited),
        tries=max(one.target.tried.values()),
        dollars=one.dollars() / hours,
        dead=one.dead_by_reason(),
        back=max(one.target.taken_at.get(name, start) for name in waited) - start - END,
        faults=(*one.faults(), *(("letters of ingest",) if way.dead.arrived else ())),
    )


def _cell(when: str, name: str, *, away: bool, spares_pollers: bool = False) -> Cell:
    play = partial(of_a_service, name, away=away, spares_pollers=spares_pollers)
    return Cell("AWS", f"{when} for an hour", play, Bounds(back=60, tries=2))


CELLS = (
    _cell("SQS does not answer", "sqs", away=True),
    _cell("SQS throttles", "sqs", away=False),
    _cell("functions cannot reach SQS", "sqs", away=True, spares_pollers=True),
    _cell("DynamoDB does not answer", "dynamodb", away=True),
    _cell("DynamoDB throttles", "dynamodb", away=False),
    _cell("Secrets Manager does not answer", "secrets", away=True),
    _cell("Secrets Manager throttles", "secrets", away=False),
)
