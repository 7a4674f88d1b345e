"""The dead-letter queues of a stack: of targets, of ingest, and of removed targets."""

import time
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.policy import keeps_order
from bucketcast.delivery.queue import COUNTS, Depth
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.kept_queues import kept_queues
from bucketcast.destination import short_name
from bucketcast.errors import BucketcastError, did_you_mean

INGRESS = "ingress"
CLOCK_SECONDS: Final = 1
"""The precision of the time that SQS tells."""


class DeadQueue(NamedTuple):
    """A dead-letter queue; `own` is the queue that its letters came from.

    `name` is the target's ARN, `ingress`, or the name of the queue of a target that was removed.
    Only an ARN has a `target`. It is `live` if a function reads `own`.
    """

    name: str
    dead: str
    own: str
    target: DeployedTarget | None = None
    live: bool = True

    @property
    def title(self) -> str:
        """What people call it: the name of its target, or its own."""
        return self.target.name if self.target else self.name

    @property
    def ingress(self) -> bool:
        return self.name == INGRESS

    @property
    def in_order(self) -> bool:
        return keeps_order(self.dead)


def list_queues(deployment: Deployed, aws: Aws) -> tuple[list[DeadQueue], str]:
    """Return a stack's dead-letter queues, and the error if removed targets' are unknown."""
    configured = [*_configured(deployment)]
    try:
        removed = [
            DeadQueue(_last(dead), dead, own, live=False)
            for own, dead in kept_queues(deployment, aws)
        ]
    except AwsError as error:
        return configured, f"queues of removed targets cannot be listed: {error}"
    return [*configured, *removed], ""


def find(name: str, queues: Sequence[DeadQueue]) -> DeadQueue:
    """Return the queue of a target's ARN, of `ingress`, or with this name.

    Raises:
        BucketcastError: there is no such queue.
    """
    for queue in queues:
        if name in (queue.name, _last(queue.dead)):
            return queue
    short = short_name(name)
    names = [queue.title for queue in queues]
    raise BucketcastError(
        f"no dead-letter queue of {short}: {did_you_mean(short, names)}there is {', '.join(names)}"
    )


def snapshot(queue: str, aws: Aws) -> tuple[int, Depth]:
    """Return SQS's time in Unix ms, and the number of messages in a queue then.

    The time is rounded up: what is sent after `CLOCK_SECONDS` is not before it. If SQS does not
    send its time, it is this machine's.

    Raises:
        AwsError: SQS did not answer, or there is no such queue.
    """
    with aws_errors():
        answer = aws.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=COUNTS)
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date", "")
    try:
        seconds = int(parsedate_to_datetime(date).timestamp())
    except ValueError:
        seconds = int(time.time())
    return (seconds + CLOCK_SECONDS) * 1_000, Depth.of(answer["Attributes"])


def _configured(deployment: Deployed) -> Iterator[DeadQueue]:
    own = deployment.ingress_queue
    yield DeadQueue(INGRESS, dead_of(own), own)
    for target in deployment.targets:
        yield DeadQueue(target.arn, target.dead, target.queue, target)
    for target in deployment.inactive:
        yield DeadQueue(_last(target.dead), target.dead, target.queue, live=False)


def _last(url: str) -> str:
    return url.rpartition("/")[2]
