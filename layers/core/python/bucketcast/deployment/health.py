"""The health of a deployment's targets, from their functions and queues."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.queue import Depth, Queue
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.invocation import FunctionFailedError, invoke

_AT_ONCE = 16


class Health(NamedTuple):
    """A target's health; None is unknown, `why` is the reason, `where` its address.

    Counts are SQS messages; `waiting` includes those in flight. A probe knows none of them.
    """

    online: bool | None = None
    why: str = ""
    where: str = ""
    waiting: int | None = None
    dead: int | None = None
    in_flight: int | None = None


def probe_all(targets: Sequence[DeployedTarget], aws: Aws) -> list[Health]:
    """Let the function of each target connect to it, many at once."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda target: probe(target, aws), targets))


def health(targets: Sequence[DeployedTarget], probes: Sequence[Health], aws: Aws) -> list[Health]:
    """Return the health of each target, from its probe and from its queues, read in parallel."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = pool.map(lambda target: read_depth(target.queue, aws), targets)
        dead = pool.map(lambda target: read_depth(target.dead, aws), targets)
        return list(map(_with_depths, probes, waiting, dead))


def read_depth(queue: str, aws: Aws) -> tuple[Depth | None, str]:
    """Count the messages of a queue; return None and the reason if SQS does not answer."""
    try:
        with aws_errors():
            return Queue(queue, aws.sqs).depth, ""
    except AwsError as error:
        return None, str(error)


def messages(queue: str, aws: Aws) -> int | None:
    """Count the messages of a queue, in flight and delayed too; None if unknown."""
    queue_depth, _ = read_depth(queue, aws)
    return queue_depth.all if queue_depth else None


def _with_depths(
    probed: Health, waiting: tuple[Depth | None, str], dead: tuple[Depth | None, str]
) -> Health:
    (queue, unread), (letters, unread_dead) = waiting, dead
    return probed._replace(
        why="; ".join(dict.fromkeys(filter(None, (probed.why, unread, unread_dead)))),
        waiting=queue.all if queue else None,
        dead=letters.all if letters else None,
        in_flight=queue.in_flight if queue else None,
    )


def probe(target: DeployedTarget, aws: Aws) -> Health:
    """Let the target's function connect to it."""
    if target.state != "on":
        why = "switched off" if target.state == "off" else "removed; waiting messages are kept"
        return Health(online=False, why=why)
    if not target.function:
        why = f"the stack has no function for dynamic targets of kind {target.kind}"
        return Health(why=why)
    try:
        answer = invoke(target.function, {"probe": True, "target": target.arn}, aws)
    except AwsError as error:
        failed = error.silent or isinstance(error, FunctionFailedError)
        return Health(False if failed else None, str(error))
    return Health(bool(answer["online"]), str(answer["why"]), str(answer["where"]))
