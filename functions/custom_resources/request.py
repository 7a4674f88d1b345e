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


class Deadline:
    """Waits until `seconds` from now, less the `RESERVE`, are over.

    Each wait has an end of its own, and their sum may be longer than the function runs.
    """

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._end = clock() + seconds - RESERVE

    def sleep(self, seconds: float) -> None:
        """Wait, as `time.sleep` does.

        Raises:
            BucketcastError: the function would be ended before it could answer.
        """
        if self._clock() + seconds > self._end:
            raise BucketcastError(
                "what was waited for did not come in the function's time: deploy again; the log "
                "says what it was"
            ) from None
        self._sleep(seconds)
