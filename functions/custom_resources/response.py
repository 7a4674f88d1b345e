"""The response of a custom resource, put to the URL where CloudFormation waits, and its time."""

import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final

from bucketcast.errors import BucketcastError
from bucketcast.telemetry import logger
from functions.custom_resources.bucket import DELETE

REASON_LIMIT: Final = 1_000  # CloudFormation takes 4 KB of response in all
RESERVE: Final = 100.0
"""Seconds for a call of AWS that is in progress when the time is up, and for the answer.

A call without an answer is made four times, 13 seconds each and up to 7 between them; the answer
is given three times, 10 seconds each and 3 between them.
"""
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 3.0


def respond(event: Mapping[str, Any], status: str, reason: str) -> None:
    """Report the outcome of a request.

    Raises:
        OSError: the URL could not be reached in three attempts.
    """
    body = json.dumps(
        {
            "Status": status,
            "Reason": reason[:REASON_LIMIT],
            "PhysicalResourceId": _physical_id(event, status),
            **{key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")},
        }
    ).encode()
    # The URL is signed for an empty content type.
    request = urllib.request.Request(  # noqa: S310 - CloudFormation's own URL
        event["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""}
    )
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=10):  # noqa: S310
                return
        except OSError:
            if attempt == _ATTEMPTS:
                raise
            logger.warning("CloudFormation did not take the response; trying again")
            time.sleep(_PAUSE_SECONDS)


def _physical_id(event: Mapping[str, Any], status: str) -> str:
    """Return the bucket's own id: after a change to another bucket the old one is then removed."""
    before = event.get("PhysicalResourceId")
    if before and (status == "FAILED" or event["RequestType"] == DELETE):
        return str(before)
    properties = event["ResourceProperties"]
    return "/".join(properties[key] for key in ("Bucket", "Id") if key in properties) or "malformed"


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
