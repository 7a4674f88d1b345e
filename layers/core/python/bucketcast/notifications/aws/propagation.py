"""Retry an AWS call while a permission or policy that was just granted takes effect."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from botocore.exceptions import ClientError

from bucketcast.notifications.aws.writer import (
    ConcurrentWriteError,
    is_unreachable_destination,
)

MAX_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 3.0
Result = TypeVar("Result")


def retry(call: Callable[[], Result], sleep: Callable[[float], None] = time.sleep) -> Result:
    """Repeat a call until it succeeds, at most for `MAX_SECONDS`, and return its result.

    Raises:
        ClientError: AWS refused for another reason, or for all of that time.
        ConcurrentWriteError: others wrote the same document for all of that time.
    """
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        try:
            return call()
        except (ClientError, ConcurrentWriteError) as error:
            if not _may_pass(error) or time.monotonic() > deadline:
                raise
            sleep(PAUSE_SECONDS)


def _may_pass(error: Exception) -> bool:
    """Return True if waiting may help.

    A new queue policy or role takes effect after seconds: until then S3 answers `AccessDenied`, or
    that it cannot validate the destination, DynamoDB `AccessDeniedException`. S3 answers
    `OperationAborted` while another client changes the bucket's settings.
    """
    if not isinstance(error, ClientError):
        return True
    code = error.response["Error"]["Code"]
    is_passing = code.startswith("AccessDenied") or code == "OperationAborted"
    return is_passing or is_unreachable_destination(error)
