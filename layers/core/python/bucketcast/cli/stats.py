"""`bucketcast stats`: events sent and failed per target."""

import click

from bucketcast.aws.target_stats import TargetStats, target_stats
from bucketcast.aws.topics.metrics import counted
from bucketcast.cli.output import Output, shared

_COLUMNS = ("ARN", "SENT", "FAILED TRIES", "DEAD", "SKIPPED", "IN FLIGHT", "WAITING")


@click.command()
@shared
def command(out: Output) -> None:
    """Show how many events were sent to each target, how many failed, and its backlog.

    Events are counted since the stack was created. FAILED TRIES counts attempts that will be
    retried; SKIPPED counts events for targets that do not exist. IN FLIGHT and WAITING count queue
    messages, each of which may hold many events. Ceph's topic counters follow the table.

    \b
    Example:
      bucketcast stats --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    found = target_stats(deployment, aws)
    topics = {
        f"pubsub_{name}": number
        for name, number in counted(found, deployment.rules_table, aws)._asdict().items()
    }
    document = {"targets": [_document(each) for each in found], "topics": topics}
    rows = [
        (each.arn, *map(str, each.counts), _shown(each.in_flight), _shown(each.waiting))
        for each in found
    ]
    out.table(document, _COLUMNS, rows, "there are no targets and no counters")
    if any(topics.values()):
        out.note("topics: " + ", ".join(f"{name} {count}" for name, count in topics.items()))


def _document(each: TargetStats) -> dict[str, object]:
    messages = {"in_flight": each.in_flight, "waiting": each.waiting}
    return {"arn": each.arn, **each.counts._asdict(), **messages}


def _shown(messages: int | None) -> str:
    return "?" if messages is None else str(messages)
