"""`bucketcast dlq`: list, show, redrive, export and purge dead letters."""

import click

from bucketcast.dlq.command.move import purge, redrive
from bucketcast.dlq.command.read import export, ls, show


@click.group()
def command() -> None:
    """List, show, redrive, export and purge dead letters: events that were given up.

    TARGET is KIND:ID, the ARN of a target or topic, or ingress for what could not be read at
    all. Dead letters of removed targets are listed and named by their queue.

    Messages are hidden from other readers while a command reads them, and shown again when it ends.
    """


for subcommand in (ls, show, redrive, export, purge):
    command.add_command(subcommand)
