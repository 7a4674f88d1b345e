"""The dead-letter queues of a stack: of targets, of ingest, and of removed targets."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bucketcast import targets
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.depth import Depth
from bucketcast.delivery.depth import depth as queue_depth
from bucketcast.delivery.policy import keeps_order
from bucketcast.delivery.queue_names import bare, dead_of
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError, did_you_mean

INGRESS = "ingress"
_DEAD = "-dead"


class DeadQueue(NamedTuple):
    """A dead-letter queue; `own` is the queue that its letters came from.

    `name` is the target's ARN, `ingress`, or the name of the queue of a target that was removed.
    Only the first has a `target`. Where nothing reads `own`, it is not `live`.
    """

    name: str
    dead: str
    own: str
    target: DeployedTarget | None = None
    live: bool = True

    @property
    def ingress(self) -> bool:
        return self.name == INGRESS

    @property
    def in_order(self) -> bool:
        return keeps_order(self.dead)


def found(deployment: Deployed, aws: Aws) -> tuple[list[DeadQueue], str]:
    """Return a stack's dead-letter queues, and why those of removed targets are unknown."""
    listed = [*_listed(deployment)]
    try:
        with aws_errors():
            removed = [*_removed(deployment, {each.dead for each in listed}, aws)]
    except AwsError as error:
        return listed, f"queues of removed targets cannot be listed: {error}"
    return [*listed, *removed], ""


def chosen(name: str, queues: Sequence[DeadQueue]) -> DeadQueue:
    """Return the queue of an ARN, of `KIND:ID`, of `ingress`, or with this name.

    Raises:
        BucketcastError: there is none.
    """
    wanted = {name, _arn(name)}
    for each in queues:
        if wanted & {each.name, _last(each.dead)}:
            return each
    names = [each.name for each in queues]
    raise BucketcastError(
        f"no dead-letter queue of {name}: {did_you_mean(name, names)}there is {', '.join(names)}"
    )


def depth(queue: str, aws: Aws) -> Depth:
    """Return the number of messages in a queue.

    Raises:
        AwsError: SQS did not answer, or there is no such queue.
    """
    with aws_errors():
        return queue_depth(queue, aws.sqs)


def _listed(deployment: Deployed) -> Iterator[DeadQueue]:
    own = deployment.ingress_queue
    yield DeadQueue(INGRESS, dead_of(own), own)
    for each in deployment.targets:
        yield DeadQueue(each.arn, each.dead, each.queue, each)
    for each in deployment.resting:
        yield DeadQueue(_last(each.dead), each.dead, each.queue, live=False)


def _removed(deployment: Deployed, listed: set[str], aws: Aws) -> Iterator[DeadQueue]:
    """Yield the queues that CloudFormation kept of targets that are not deployed any more."""
    prefix = f"{deployment.stack}-"
    made = deployment.dynamic.prefix if deployment.dynamic else prefix
    names = {_last(each) for each in listed}
    pages = aws.sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=prefix, PaginationConfig={"PageSize": 1_000}
    )
    base = deployment.ingress_queue.rpartition("/")[0]
    for page in pages:
        for url in page.get("QueueUrls", ()):
            name = _last(url)
            plain = bare(name)
            kind = plain.removeprefix(made).removeprefix(prefix).partition("-")[0]
            if name in names or not plain.endswith(_DEAD) or kind not in targets.kinds():
                continue
            own = plain.removesuffix(_DEAD) + name[len(plain) :]
            yield DeadQueue(name, f"{base}/{name}", f"{base}/{own}", live=False)


def _arn(name: str) -> str:
    """Return the ARN that a name stands for, without its region."""
    try:
        if name.startswith("arn:"):
            return TargetArn.parse(name).plain
        kind, colon, id_ = name.partition(":")
        return str(TargetArn(id=id_, type=targets.load(kind).arn_type)) if colon else name
    except (ValueError, BucketcastError):
        return name


def _last(url: str) -> str:
    return url.rpartition("/")[2]
