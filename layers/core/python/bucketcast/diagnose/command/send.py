"""`bucketcast send`: send one target an event again, without asking the rules."""

import time
from collections.abc import Sequence

import click

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.config.target import is_mirror
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import Outgoing, Queue, together
from bucketcast.deployment import DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.diagnose.aws.objects import event_of
from bucketcast.diagnose.command import explain
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.limits import MESSAGE_EVENTS
from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.targets.base.options import facts_in
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared

RULE = "bucketcast-send"
"""The rule's name in what the target gets."""


@click.command()
@click.argument("source", metavar="FILE|s3://BUCKET/KEY")
@click.option("--target", "arn", type=params.target, required=True, metavar="TARGET")
@click.option(
    "--version-id",
    "version",
    metavar="ID",
    default="",
    help="The object's version; only with s3://. [default: the current one]",
)
@shared
def command(out: Output, source: str, *, arn: TargetArn, version: str) -> None:
    """Send one target an event again, whatever its rules say.

    The event is that of the upload of an object that exists, or a recorded one from a file, in any
    format that ingest reads (- is standard input). It goes to the target's queue; its rule is
    "bucketcast-send". A target with format = namespace keeps what is newer.

    \b
    Example:
      bucketcast send s3://uploads/photos/cat.jpg --target webhook:primary
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    target = deployment.target(arn)
    if source.startswith(params.URI):
        events = [_event_of(source, target, version, aws)]
    elif version:
        raise click.UsageError("--version-id is allowed with s3://BUCKET/KEY only, not with a file")
    else:
        events = explain.recorded(source)
    _send(events, target, aws)
    sent = f"Sent {counted(len(events), 'event')} to {target.name}, without asking the rules"
    out.answer({"target": target.arn, "events": [event.id for event in events]}, sent)


def _event_of(uri: str, target: DeployedTarget, version: str, aws: Aws) -> Event:
    settings = deployed.settings(target, aws)
    current = is_mirror(target.kind, settings)
    asked = "" if current else version
    event = event_of(*params.object_uri(uri), asked, facts_in(settings), aws)
    if current and version not in ("", event.version_id or UNVERSIONED):
        raise BucketcastError(
            f"{target.name} has format = namespace, which shows current versions, and {version} "
            "is not the current one"
        )
    return event


def _send(events: Sequence[Event], target: DeployedTarget, aws: Aws) -> None:
    now = round(time.time() * 1_000)
    deliveries = [Delivery(RULE, event, created=now) for event in events]
    bodies = [part.body for part in pack(deliveries, together(target.queue, MESSAGE_EVENTS))]
    with aws_errors():
        refused = Queue(target.queue, aws.sqs).send([Outgoing(body) for body in bodies])
    if refused:
        raise AwsError(f"the queue of {target.name} did not take all: {min(refused.values())}")
