"""`bucketcast stats`: how many events went to each target, and how many did not."""

import click

from bucketcast.cli.screen import Screen, shared
from bucketcast.store import deployed
from bucketcast.store.progress import Progress, progress
from bucketcast.store.topics.counted import counted

_COLUMNS = ("ARN", "SENT", "FAILED TRIES", "DEAD", "SKIPPED", "IN FLIGHT", "WAITING")


@click.command()
@shared
@click.pass_obj
def command(screen: Screen) -> None:
    """Show how many events each target was sent, and what its queue holds.

    Events are counted since the stack was made. A failed try is an event that will be tried again;
    skipped are events that a rule sent to a target that is not there. In flight and waiting are
    messages, each of which may hold many events. Ceph's counters of topics stand below.

    \b
    Example:
      bucketcast stats --json
    """  # noqa: D301 - click reads the character
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    found = progress(there, aws)
    topics = {
        f"pubsub_{name}": number
        for name, number in counted(found, there.rules_table, aws)._asdict().items()
    }
    document = {"targets": [_document(each) for each in found], "topics": topics}
    rows = [
        (each.arn, *map(str, each.counts), _shown(each.in_flight), _shown(each.waiting))
        for each in found
    ]
    screen.table(document, _COLUMNS, rows, "there is no target, and nothing was counted")
    if any(topics.values()) and not screen.json:
        screen.note("topics: " + ", ".join(f"{name} {count}" for name, count in topics.items()))


def _document(each: Progress) -> dict[str, object]:
    messages = {"in_flight": each.in_flight, "waiting": each.waiting}
    return {"arn": each.arn, **each.counts._asdict(), **messages}


def _shown(messages: int | None) -> str:
    return "?" if messages is None else str(messages)
