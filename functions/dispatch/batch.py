"""One batch of one target, as Lambda hands it over, and whether a target can be reached."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from bucketcast import telemetry, tracing
from bucketcast.dispatch import Message, Outcome
from bucketcast.dispatch.redaction import shortened
from bucketcast.errors import ConfigErrors, DeliveryError, NotAuthorized
from bucketcast.options import read
from bucketcast.store.counters import Counters, Counts
from bucketcast.targets.base import Target

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
Connect = Callable[[bool], Target]


def connector(kind: type[Target], settings: Callable[[bool], Mapping[str, str]]) -> Connect:
    """What makes the target; `settings(fresh)` gives its settings with their secrets in place."""

    def connect(fresh: bool) -> Target:  # noqa: FBT001 - dispatch calls it by place
        try:
            return kind(read(kind.Settings, settings(fresh)))
        except ConfigErrors as wrong:
            # What was found may be what a secret holds, so only keys and rules are said.
            reasons = "; ".join(f"{error.key}: {error.allowed}" for error in wrong.errors)
            raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None

    return connect


def deliver(
    arn: str,
    dispatcher: Callable[..., Outcome],
    event: Mapping[str, Any],
    context: Any,
    counters: Counters | None = None,
) -> dict[str, Any]:
    """Deliver what the messages hold, and answer with those that are to be seen again."""
    outcome = dispatcher(
        map(message, event["Records"]),
        now=round(time.time() * 1000),
        remaining=lambda: context.get_remaining_time_in_millis() / 1000,
        told=lambda fates: telemetry.trace(tracing.dispatched(arn, fates)),
    )
    if outcome.reason is not None:
        telemetry.logger.warning(
            "not all events arrived",
            target=arn,
            error=type(outcome.reason).__name__,
            reason=str(outcome.reason),
            retried=outcome.retried,
            dead=outcome.dead,
            waiting=outcome.waiting,
        )
    telemetry.oldest(arn, outcome.oldest)
    telemetry.count(
        arn,
        EventsDelivered=outcome.delivered,
        EventsRetried=outcome.retried,
        EventsDead=outcome.dead,
    )
    telemetry.flush()
    if counters:
        counters.add(arn, Counts(outcome.delivered, outcome.retried, outcome.dead))
    return {"batchItemFailures": [{"itemIdentifier": message} for message in outcome.stay]}


def probe(connect: Connect) -> dict[str, Any]:
    """Whether the target can be reached from here: `{"online", "why", "where"}`."""
    where, fresh = "", True
    try:
        with connect(fresh) as target:
            where = target.where
            target.probe()
    except DeliveryError as error:
        return {"online": False, "why": shortened(str(error)), "where": where}
    return {"online": True, "why": "", "where": where}


def message(record: Mapping[str, Any]) -> Message:
    """A message as Lambda hands it over."""
    attributes = record["attributes"]
    return Message(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(attributes["SentTimestamp"]),
        int(attributes["ApproximateReceiveCount"]),
    )
