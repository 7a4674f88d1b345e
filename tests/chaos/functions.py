"""The processes that the local AWS runs functions in."""

from typing import Literal

import psutil

from tests.e2e.system import Deployed
from tests.waiting import last_seen

_NAME = "AWS_LAMBDA_FUNCTION_NAME"
_Count = Literal["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
VISIBLE: _Count = "ApproximateNumberOfMessages"
IN_HAND: _Count = "ApproximateNumberOfMessagesNotVisible"
"""What functions were given and have not said the end of."""
_BUSY_WITHIN = 10.0


def emulator(system: Deployed) -> psutil.Process:
    """The local AWS itself, whose children run the functions."""
    file = system.local.folder / "pids" / "ministack.pid"
    return psutil.Process(int(file.read_text().split()[0]))


def processes(system: Deployed, function: str) -> list[psutil.Process]:
    """Those of one function that run now."""
    children = emulator(system).children(recursive=True)
    return [each for each in children if _function_of(each) == function]


def count(system: Deployed, queue: str, which: _Count) -> int:
    """How many messages of a queue are visible, or in hand."""
    answer = system.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[which])
    return int(answer["Attributes"][which])


def kill_when_busy(system: Deployed, function: str, queue: str) -> int:
    """Kill a function, as `kill -9` does, when it has messages in hand.

    Return how many of its processes that were, 0 where no message came in time.
    """
    found = last_seen(
        lambda: processes(system, function) if count(system, queue, IN_HAND) else [],
        within=_BUSY_WITHIN,
    )
    for each in found:
        _kill(each)
    return len(found)


def _function_of(process: psutil.Process) -> str:
    try:
        return process.environ().get(_NAME, "")
    except (psutil.Error, OSError):  # gone meanwhile
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
