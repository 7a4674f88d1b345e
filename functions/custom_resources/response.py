"""The response of a custom resource, put to the URL where CloudFormation waits for it."""

import json
import time
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from bucketcast.telemetry import logger
from functions.custom_resources.request import DELETE

REASON_LIMIT: Final = 1_000  # CloudFormation takes 4 KB of response in all
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
