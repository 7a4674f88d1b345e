"""What a request needs besides its own properties: clients, its stack's state, and time."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from bucketcast.aws import function_clients
from bucketcast.errors import BucketcastError

Clients = Callable[[str], Any]
DELETE: Final = "Delete"
RESERVE: Final = 100.0
"""Seconds for a call of AWS that is in progress when the time is up, and for the answer.

A call without an answer is made four times, 13 seconds each and up to 7 between them; the answer
is given three times, 10 seconds each and 3 between them.
"""


def client(service: str) -> Any:
    """Return a client of a service."""
    return function_clients.client(service, function_clients.DEPLOY_CALL)


def is_rolled_back(event: Mapping[str, Any], clients: Clients) -> bool:
    """Return True if the deploy of the request has failed and is being undone."""
    response = clients("cloudformation").describe_stacks(StackName=event["StackId"])
    (stack,) = response["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]


def sleep_until(
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Callable[[float], None]:
    """Return a function that waits as `time.sleep`, for `seconds` from now less the `RESERVE`.

    Each wait has an end of its own, and their sum may be longer than the function runs: the one
    after which the function could not answer raises a `BucketcastError` instead.
    """
    end = clock() + seconds - RESERVE

    def wait(seconds: float) -> None:
        if clock() + seconds > end:
            raise BucketcastError(
                "what was waited for did not come in the function's time: deploy again; the log "
                "says what it was"
            ) from None
        sleep(seconds)

    return wait
