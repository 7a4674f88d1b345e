"""`bucketcast balance`: whether every event of each target is accounted for."""

import time
from datetime import UTC, datetime
from typing import Any

import click

from bucketcast.aws import balances, health
from bucketcast.aws.balances import HOUR_SECONDS, Balance
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.counters import Counters, HourCounts
from bucketcast.aws.pauses import target_of
from bucketcast.cli.output import Output, shared
from bucketcast.cli.target_pause import target_or_topic

_COLUMNS = ("TARGET", "HOUR", "RECEIVED", "DELIVERED", "DEAD", "DISCARDED", "WAITING", "MISSING")
_REPEATED = "REPEATED"
_NOTHING = "no target was sent an event in these hours"


@click.command()
@click.option("--target", "arn", type=target_or_topic, help="Only this target: ARN or KIND:ID.")
@click.option(
    "--hours",
    type=click.IntRange(min=1),
    default=24,
    show_default=True,
    metavar="N",
    help="Show events that came in the last N hours; older ones only if some are missing.",
)
@click.option("--accept", is_flag=True, help="Accept missing events as lost: report them no more.")
@shared
def command(out: Output, *, arn: str | None, hours: int, accept: bool) -> int:
    """Show whether received = delivered + dead + discarded + waiting, by target and hour.

    Hours (UTC) are those in which events came. MISSING events were received, are in no queue, and
    nothing is known of their end: somebody deleted their message, or purged the queue. REPEATED
    events were counted twice, after a function was killed; nothing is lost. Ends with 1 if
    something is missing. Hours over two days old are only shown if they are open.

    \b
    Example:
      bucketcast balance --target arn:minio:sqs::primary:webhook --hours 2
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    only = target_of(arn, deployment, aws).arn if arn else None
    counters = Counters(deployment.rules_table, lambda: aws.dynamodb)
    queues = {each.arn: each.queue for each in (*deployment.resting, *deployment.targets)}
    with aws_errors():
        found = balances.balances(counters, lambda each: _messages(queues, each, aws))
    found = [each for each in found if each.arn in queues and only in (None, each.arn)]
    accepted = 0
    if accept:
        with aws_errors():
            accepted = sum(balances.accept(counters, each) for each in found)
    lost = sum(each.lost for each in found)
    since = int(time.time()) // HOUR_SECONDS - hours
    document = {
        "balanced": not lost or accept,
        "missing": lost,
        "accepted": accepted,
        "targets": [_document(each, since) for each in found],
    }
    repeated = (_REPEATED,) if any(each.repeated for each in found) else ()
    rows = [
        _row(each, hour, counts, repeats=bool(repeated))
        for each in found
        for hour, counts in _shown(each, since)
    ]
    out.table(document, (*_COLUMNS, *repeated), rows, _NOTHING)
    for text in _verdicts(found, accepted):
        out.note(text)
    return 1 if lost and not accept else 0


def _messages(queues: dict[str, str], arn: str, aws: Aws) -> int | None:
    return health.messages(queues[arn], aws) if arn in queues else None


def _shown(found: Balance, since: int) -> list[tuple[int, HourCounts]]:
    return [
        (hour, counts)
        for hour, counts in sorted(found.hours.items())
        if hour > since or found.missing.get(hour)
    ]


def _row(found: Balance, hour: int, counts: HourCounts, *, repeats: bool) -> tuple[str, ...]:
    missing = found.missing.get(hour, 0)
    numbers = [counts.received, counts.sent, counts.dead, counts.discarded]
    numbers += [max(counts.open, 0) - missing, missing]
    numbers += [max(-counts.open, 0)] if repeats else []
    return (found.arn, _hour(hour), *(f"{number:,}" for number in numbers))


def _verdicts(found: list[Balance], accepted: int) -> list[str]:
    texts = [
        f"{each.lost:,} events of {each.arn} are missing: they were received, its queue does not "
        "have them, and they were neither delivered nor dead-lettered"
        for each in found
        if each.lost
    ]
    texts += [
        f"the queue of {each.arn} cannot be read, so what is missing there is not known"
        for each in found
        if each.messages is None
    ]
    return [*texts, f"accepted {accepted:,} missing events"] if accepted else texts


def _document(found: Balance, since: int) -> dict[str, Any]:
    return {
        "arn": found.arn,
        "missing": found.lost,
        "waiting": found.waiting,
        "repeated": found.repeated,
        "messages": found.messages,
        "hours": [
            {
                "hour": _hour(hour),
                "received": counts.received,
                "delivered": counts.sent,
                "dead": counts.dead,
                "discarded": counts.discarded,
                "waiting": max(counts.open, 0) - found.missing.get(hour, 0),
                "missing": found.missing.get(hour, 0),
                "repeated": max(-counts.open, 0),
                "accepted": counts.accepted,
            }
            for hour, counts in _shown(found, since)
        ],
    }


def _hour(hour: int) -> str:
    return f"{datetime.fromtimestamp(hour * HOUR_SECONDS, UTC):%Y-%m-%dT%H:00Z}"
