"""The processes that the local AWS runs functions in."""

import time
from typing import Literal

import psutil

from tests.e2e.system import Deployed

_NAME = "AWS_LAMBDA_FUNCTION_NAME"
_IN_FLIGHT: Literal["ApproximateNumberOfMessagesNotVisible"] = (
    "ApproximateNumberOfMessagesNotVisible"
)
_BUSY_WITHIN = 10.0


def emulator(system: Deployed) -> psutil.Process:
    """The local AWS itself, whose children run the functions."""
    file = system.local.folder / "pids" / "ministack.pid"
    return psutil.Process(int(file.read_text().split()[0]))


def processes(system: Deployed, function: str) -> list[psutil.Process]:
    """Those of one function that run now."""
    children = emulator(system).children(recursive=True)
    return [each for each in children if _function_of(each) == function]


def kill_when_busy(system: Deployed, function: str, queue: str) -> tuple[int, int]:
    """Kill a function, as `kill -9` does, when it has messages in hand.

    The answer are how many processes were killed and how many messages they had, 0 where none came
    in time.
    """
    deadline = time.monotonic() + _BUSY_WITHIN
    while True:
        held = _held(system, queue)
        found = processes(system, function) if held else []
        if found or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for each in found:
        _kill(each)
    return len(found), held


def _held(system: Deployed, queue: str) -> int:
    answer = system.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[_IN_FLIGHT])
    return int(answer["Attributes"][_IN_FLIGHT])


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
