"""A stack's outputs for a process that serves calls: read again after a few seconds."""

import time
from collections.abc import Callable
from typing import Final

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed, read_outputs

MAX_AGE_SECONDS: Final = 5.0
"""The seconds for which a deploy may go unnoticed. CloudFormation allows few calls a second."""


def outputs_reader(
    stack: str, aws: Aws, clock: Callable[[], float] = time.time
) -> Callable[[], Deployed]:
    """Return a function that returns what `read_outputs` does, and raises as it does."""
    read_at, outputs = 0.0, None

    def read() -> Deployed:
        nonlocal read_at, outputs
        # The wall clock, since the monotonic one stands still while Lambda keeps a function frozen.
        now = clock()
        if outputs is None or not 0 <= now - read_at < MAX_AGE_SECONDS:
            outputs, read_at = read_outputs(stack, aws), now
        return outputs

    return read
