"""`bucketcast topic`: list and remove topics, as `radosgw-admin topic` does."""

import click

from bucketcast.topics.command.records import get, ls, rm
from bucketcast.topics.command.stats import stats


@click.group()
def command() -> None:
    """List and remove topics, and show their backlog. Users create topics through the gateway.

    With --json the fields are those of `radosgw-admin topic`.
    """


for each in (ls, get, rm, stats):
    command.add_command(each)
