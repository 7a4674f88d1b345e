"""`bucketcast dlq`: list, show, redrive, export and purge dead letters."""

import click

from bucketcast.dlq.command.move import purge, redrive
from bucketcast.dlq.command.read import export, ls, show


@click.group()
def command() -> None:
    """List, show, redrive, export and purge dead letters: events that were given up.

    TARGET is KIND:ID, the ARN of a target or topic, or ingress for what could not be read at
    all; KIND:ID/GROUP is one group of `bucketcast dlq ls`. Dead letters of removed targets are
    listed and named by their queue.

    A command applies to what is there when it begins. It hides that from other readers until it
    ends or is interrupted; if it is killed, for as long as it ran at the most, or ten seconds.
    """


for subcommand in (ls, show, redrive, export, purge):
    command.add_command(subcommand)
