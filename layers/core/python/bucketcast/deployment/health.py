"""The health of a deployment's targets, from their functions and queues."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.queue import Depth, depth
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.invocation import FunctionFailedError, invoke

_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Health:
    """A target's health; None is unknown, `why` is the reason, `where` its address.

    Counts are SQS messages; `waiting` includes those in flight.
    """

    where: str
    online: bool | None
    why: str
    waiting: int | None
    dead: int | None
    in_flight: int | None = None


def health(targets: Sequence[DeployedTarget], aws: Aws) -> list[Health]:
    """Return the health of each target, read from functions and queues in parallel."""
    if not targets:
        return []
    _ = aws.functions, aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(min(_AT_ONCE, 3 * len(targets))) as pool:
        running = [
            (
                pool.submit(_probe, target, aws),
                pool.submit(read_depth, target.queue, aws),
                pool.submit(read_depth, target.dead, aws),
            )
            for target in targets
        ]
        return [
            _health(probed.result(), waiting.result(), dead.result())
            for probed, waiting, dead in running
        ]


def read_depth(queue: str, aws: Aws) -> tuple[Depth | None, str]:
    """Count the messages of a queue; return None and the reason if SQS does not answer."""
    try:
        with aws_errors():
            return depth(queue, aws.sqs), ""
    except AwsError as error:
        return None, str(error)


def messages(queue: str, aws: Aws) -> int | None:
    """Count the messages of a queue, in flight and delayed too; None if unknown."""
    queue_depth, _ = read_depth(queue, aws)
    return queue_depth.all if queue_depth else None


def _health(
    probed: tuple[bool | None, str, str],
    waiting: tuple[Depth | None, str],
    dead: tuple[Depth | None, str],
) -> Health:
    (online, why, where), (queue, unread), (letters, unread_dead) = probed, waiting, dead
    return Health(
        where,
        online,
        "; ".join(dict.fromkeys(filter(None, (why, unread, unread_dead)))),
        queue.all if queue else None,
        letters.all if letters else None,
        queue.in_flight if queue else None,
    )


def _probe(target: DeployedTarget, aws: Aws) -> tuple[bool | None, str, str]:
    """Probe a target; return if it is online (None: unknown), the reason, and its address."""
    if target.state != "on":
        why = "switched off" if target.state == "off" else "removed; waiting messages are kept"
        return False, why, ""
    if not target.function:
        return None, f"the stack has no function for dynamic targets of kind {target.kind}", ""
    try:
        answer = invoke(target.function, {"probe": True, "target": target.arn}, aws)
    except AwsError as error:
        failed = error.silent or isinstance(error, FunctionFailedError)
        return False if failed else None, str(error), ""
    return bool(answer["online"]), str(answer["why"]), str(answer["where"])
