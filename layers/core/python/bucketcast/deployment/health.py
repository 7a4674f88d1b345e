"""The health of a deployment's targets, from their functions and queues."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.delivery.queue import Depth, Queue
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


class Probe(NamedTuple):
    """What a target's function found; None is unknown, `why` is the reason, `where` its address."""

    online: bool | None = None
    why: str = ""
    where: str = ""


def health(
    targets: Sequence[DeployedTarget], aws: Aws, probes: Sequence[Probe] | None = None
) -> list[Health]:
    """Return the health of each target, read from functions and queues in parallel.

    With the results of earlier `probes`, only the queues are read.
    """
    if not targets:
        return []
    _ = aws.functions, aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(min(_AT_ONCE, 3 * len(targets))) as pool:
        asked = [] if probes else [pool.submit(probe, target, aws) for target in targets]
        depths = [
            (pool.submit(read_depth, target.queue, aws), pool.submit(read_depth, target.dead, aws))
            for target in targets
        ]
        found = probes or [each.result() for each in asked]
        return [
            _health(probed, waiting.result(), dead.result())
            for probed, (waiting, dead) in zip(found, depths, strict=True)
        ]


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


def _health(
    probed: Probe,
    waiting: tuple[Depth | None, str],
    dead: tuple[Depth | None, str],
) -> Health:
    (queue, unread), (letters, unread_dead) = waiting, dead
    return Health(
        probed.where,
        probed.online,
        "; ".join(dict.fromkeys(filter(None, (probed.why, unread, unread_dead)))),
        queue.all if queue else None,
        letters.all if letters else None,
        queue.in_flight if queue else None,
    )


def probe(target: DeployedTarget, aws: Aws) -> Probe:
    """Let the target's function connect to it."""
    if target.state != "on":
        why = "switched off" if target.state == "off" else "removed; waiting messages are kept"
        return Probe(online=False, why=why)
    if not target.function:
        why = f"the stack has no function for dynamic targets of kind {target.kind}"
        return Probe(why=why)
    try:
        answer = invoke(target.function, {"probe": True, "target": target.arn}, aws)
    except AwsError as error:
        failed = error.silent or isinstance(error, FunctionFailedError)
        return Probe(False if failed else None, str(error))
    return Probe(bool(answer["online"]), str(answer["why"]), str(answer["where"]))
