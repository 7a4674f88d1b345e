"""One Lambda batch of one target, and the probe of its connection."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from msgspec.structs import asdict

from bucketcast import telemetry
from bucketcast.aws import function_clients, secrets
from bucketcast.delivery import tracing
from bucketcast.delivery.breaker import Breaker, BreakerStore
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.latency import histogram
from bucketcast.delivery.messages import Message, Outcome
from bucketcast.delivery.policy import NO_ANSWER, Policy
from bucketcast.delivery.redaction import hide_secrets, shorten
from bucketcast.delivery.sender import Sender
from bucketcast.diagnose.target import diagnose
from bucketcast.errors import ConfigErrors, DeliveryError, NotAuthorized, Retryable, name_of
from bucketcast.finding import Finding
from bucketcast.limits import COUNT_SECONDS, CRASHED_RECEIVES
from bucketcast.settings.options import read
from bucketcast.settings.secret_values import secret_values
from bucketcast.settings.types import REFERENCE
from bucketcast.state.counters import Counters, Counts, Last
from bucketcast.targets.base import Target
from bucketcast.telemetry import Histogram

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
Connect = Callable[[bool], Target]
MAX_ENGINES: Final = 64
"""To how many targets connections are kept; the one not used for longest goes first."""
_REASON_LENGTH = 200
"""More would make the item of a target's counts cost another write unit."""


def connector(kind: type[Target], settings: Callable[[bool], Mapping[str, str]]) -> Connect:
    """Return a function that creates the target; `settings(fresh)` resolves its secrets."""

    def connect(fresh: bool) -> Target:  # noqa: FBT001 - dispatch calls it by position
        try:
            return kind(read(kind.Settings, settings(fresh)))
        except ConfigErrors as errors:
            # The value may come from a secret, so only keys and rules are shown.
            reasons = "; ".join(f"{error.key}: {error.allowed}" for error in errors.errors)
            raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None

    return connect


def sender(kind: type[Target], connect: Connect, store: BreakerStore, settings: str) -> Sender:
    """Return the sender of one target; `settings` stands for its settings, as of `Breaker`."""
    return Sender(Connection(connect), Breaker(store, settings), kind.batch_size)


class EngineCache:
    """Engines by name; each keeps its connection while its target's settings do not change."""

    def __init__(self) -> None:
        self._engines: OrderedDict[str, tuple[int, Engine]] = OrderedDict()

    def get(self, name: str, number: int, create: Callable[[], Engine]) -> Engine:
        """Return the engine for the settings of this number, created if need be."""
        cached_number, engine = self._engines.pop(name, (0, None))
        if engine is None or cached_number != number:
            if engine:
                engine.close()
            engine = create()
        self._engines[name] = number, engine
        while len(self._engines) > MAX_ENGINES:
            _, (_, oldest) = self._engines.popitem(last=False)
            oldest.close()
        return engine


def deliver(  # noqa: PLR0913 - one batch, and its observers
    arn: str,
    engine: Engine,
    messages: Sequence[Message],
    policy: Policy,
    context: Any,
    *,
    counters: Counters | None,
    queue: str = "",
    total: float | None = None,
) -> list[str]:
    """Deliver the messages of a queue; return the ids of those that stay in it.

    The age of the oldest is reported by the `queue`'s name, if it is given.
    """

    def remaining() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    def on_begun(oldest: float) -> None:
        if queue:
            telemetry.report_age(queue, oldest)

    @telemetry.observer
    def on_outcomes(outcomes: tracing.Outcomes) -> None:
        now = time.time()
        telemetry.trace(tracing.dispatched(arn, outcomes, round(now * 1_000)))
        latencies.update(histogram(chain.from_iterable(outcomes.delivered.values()), now))

    latencies = Histogram()
    outcome = engine(
        messages,
        policy,
        now=round(time.time() * 1000),
        remaining=remaining,
        total=total,
        on_begun=on_begun,
        on_outcomes=on_outcomes,
    )
    _note_end(messages, outcome)
    if outcome.reason is not None:
        telemetry.logger.warning(
            "events are lost" if policy.once and outcome.dead else "not all events arrived",
            target=arn,
            error=name_of(outcome.reason),
            reason=str(outcome.reason),
            retried=outcome.retried,
            dead=outcome.dead,
            waiting=outcome.waiting,
        )
    dead = {"EventsLost" if policy.once else "EventsDead": outcome.dead}
    telemetry.measure(
        arn,
        EventsDelivered=outcome.delivered,
        EventsRetried=outcome.retried,
        DeliveryLatency=latencies,
        **dead,
    )
    if counters:
        counts = Counts(outcome.delivered, outcome.retried, outcome.dead)
        last = None if policy.once else _last(outcome)
        counters.add(arn, counts, last, lambda: remaining() < COUNT_SECONDS)
    return outcome.stay


def answer(stay: Iterable[str]) -> dict[str, Any]:
    """Return Lambda's partial batch response."""
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in stay]}


def _note_end(messages: Sequence[Message], outcome: Outcome) -> None:
    """Note messages with which functions ended as failed, if nothing else came of the batch."""
    ended = sum(message.receives > CRASHED_RECEIVES for message in messages)
    if ended and not (outcome.delivered or outcome.retried or outcome.dead or outcome.waiting):
        outcome.reason, outcome.retried = Retryable(NO_ANSWER), ended


def _last(outcome: Outcome) -> Last:
    """Return the target's last success and failure, as far as this batch shows them."""
    now = round(time.time() * 1000)
    reason = outcome.reason if outcome.retried or outcome.dead else None
    oldest = now - round(outcome.oldest * 1000)
    return Last(
        success=now if outcome.delivered else 0,
        failure=now if reason else 0,
        error=name_of(reason) if reason else "",
        reason=str(reason)[:_REASON_LENGTH] if reason else "",
        oldest=oldest,
        left=oldest if outcome.retried or not (outcome.delivered or outcome.dead) else 0,
    )


def probe(
    connect: Connect, event: Mapping[str, Any], settings: Mapping[str, str]
) -> dict[str, Any]:
    """Return the target's state as seen from here: `{"online", "why", "where"}`.

    For `bucketcast doctor`, by a word in the event, return the findings of each step instead. The
    services of AWS that a function with these settings needs come before the target.
    """
    secrets.forget()
    if event.get("doctor"):
        has_secrets = any(text.startswith(REFERENCE) for text in settings.values())
        services = ["sqs", "dynamodb", *(["secretsmanager"] if has_secrets else [])]
        findings = [*function_clients.find_unreachable(services), *diagnose(connect)]
        return {"findings": [_without_subject(finding) for finding in findings]}
    where, fresh = "", True
    values: frozenset[str] = frozenset()
    try:
        with connect(fresh) as target:
            where, values = target.where, secret_values(target.settings)
            target.probe()
    except DeliveryError as error:
        why = shorten(hide_secrets(str(error), values))
        return {"online": False, "why": why, "where": where}
    return {"online": True, "why": "", "where": where}


def _without_subject(finding: Finding) -> dict[str, str]:
    """Return a finding without its subject, which the caller knows."""
    return {key: text for key, text in asdict(finding).items() if key != "subject"}
