"""`bucketcast send`: send one target an event again, without asking the rules."""

import time

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError
from bucketcast.config.target import is_mirror
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.deployment import DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.diagnose.aws.objects import event_of
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.targets.base.options import facts_in
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

RULE = "bucketcast-send"
"""The rule's name in what the target gets."""


@click.command()
@click.argument("uri", metavar="s3://BUCKET/KEY", type=params.object_uri)
@click.option("--target", "arn", type=params.target, required=True, metavar="TARGET")
@click.option(
    "--version-id",
    "version",
    metavar="ID",
    default="",
    help="The object's version. [default: the current one]",
)
@shared
def command(out: Output, uri: tuple[str, str], *, arn: TargetArn, version: str) -> None:
    """Send one target an event again, whatever its rules say.

    The event is that of the upload of an object that exists. It goes to the target's queue; its
    rule is "bucketcast-send". A target with format = namespace keeps what is newer.

    \b
    Example:
      bucketcast send s3://uploads/photos/cat.jpg --target webhook:primary
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    target = deployment.target(arn)
    event = _event_of(uri, target, version, aws)
    delivery = Delivery(RULE, event, created=round(time.time() * 1_000))
    (part,) = pack([delivery])
    refused = Queue(target.queue, aws.sqs).send([Outgoing(part.body)])
    if refused:
        raise AwsError(f"the queue of {target.name} did not take it: {refused[0]}")
    sent = f"Sent 1 event to {target.name}, without asking the rules"
    out.answer({"target": target.arn, "events": [event.id]}, sent)


def _event_of(uri: tuple[str, str], target: DeployedTarget, version: str, aws: Aws) -> Event:
    settings = deployed.settings(target, aws)
    current = is_mirror(target.kind, settings)
    asked = "" if current else version
    event = event_of(*uri, asked, facts_in(settings), aws)
    if current and version not in ("", event.version_id or UNVERSIONED):
        raise BucketcastError(
            f"{target.name} has format = namespace, which shows current versions, and {version} "
            "is not the current one"
        )
    return event
