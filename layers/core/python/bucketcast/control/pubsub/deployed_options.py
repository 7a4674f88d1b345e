"""The stack's current options of topics, read from its outputs now and then."""

import threading
import time
from collections.abc import Callable
from typing import Final

from bucketcast.aws import deployed
from bucketcast.aws.clients import Aws, AwsError
from bucketcast.aws.topics.stored_events import StoredEvents
from bucketcast.runtime.model import Runtime
from bucketcast.telemetry import logger

_HELD_SECONDS: Final = 60.0


class DeployedOptions:
    """The options of `[topics]` that calls depend on."""

    def __init__(self, stack: str, aws: Aws, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack = stack
        self._aws = aws
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: Runtime | None = None
        self._until = float("-inf")

    def pull(self) -> bool:
        """Return whether topics have subscriptions."""
        runtime = self._runtime()
        return bool(runtime and runtime.pull)

    def topics_per_user(self) -> int:
        """Return how many topics a user may have, 0 for any number."""
        runtime = self._runtime()
        return runtime.topics_per_user if runtime else 0

    def events(self) -> StoredEvents:
        """Return the stored events of subscriptions; only if `pull`."""
        runtime = self._runtime()
        assert runtime is not None  # noqa: S101 - for mypy: `pull` was asked before
        return StoredEvents(runtime.pull, self._aws.dynamodb, runtime.events_retention_days)

    def _runtime(self) -> Runtime | None:
        with self._lock:
            if self._clock() >= self._until:
                self._cached = self._fetched()
                self._until = self._clock() + _HELD_SECONDS
            return self._cached

    def _fetched(self) -> Runtime | None:
        """Return what the outputs say; what they said last while AWS cannot be reached."""
        try:
            return deployed.runtime(self._stack, self._aws)
        except AwsError as error:
            if self._until == float("-inf"):
                raise
            logger.warning("the stack's outputs cannot be read", reason=str(error))
            return self._cached
