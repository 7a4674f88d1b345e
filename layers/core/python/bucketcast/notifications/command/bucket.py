"""`bucketcast bucket`: connect and disconnect existing buckets, and list connected ones."""

import click

from bucketcast.notifications.command.attach import attach
from bucketcast.notifications.command.attached import ls
from bucketcast.notifications.command.detach import detach


@click.group()
def command() -> None:
    """Connect and disconnect existing buckets without a deploy; list connected ones."""


for each in (attach, detach, ls):
    command.add_command(each)
