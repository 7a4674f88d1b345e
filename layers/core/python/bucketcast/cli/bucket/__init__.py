"""`bucketcast bucket`: connect and disconnect existing buckets, and list connected ones."""

import click

from bucketcast.cli.bucket.attach import attach
from bucketcast.cli.bucket.detach import detach
from bucketcast.cli.bucket.ls import ls


@click.group()
def command() -> None:
    """Connect and disconnect existing buckets without a deploy; list connected ones."""


for each in (attach, detach, ls):
    command.add_command(each)
