"""What the views share: the deployment, its AWS clients, and the live parts of pages."""

import time
from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from starlette.requests import Request

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.console.live import Feeds
from bucketcast.deployment import Deployed, find
from bucketcast.errors import BucketcastError
from bucketcast.terminal.output import Output

T = TypeVar("T")
_SECONDS: Final = 5.0
"""How long a view may show a deployment that has changed elsewhere."""

_PATIENCE_SECONDS: Final = 10.0


class Shared(Generic[T]):
    """What a function returned last, for views in many threads; after `seconds` it is called again.

    Those who wait for a call get its error too: a thread of each would wait for AWS once more.
    """

    def __init__(self, read: Callable[[], T], seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = Lock()
        self._outcome: T | BucketcastError
        self._read_at = float("-inf")

    def get(self) -> T:
        """Return the value.

        Raises:
            BucketcastError: it cannot be read.
            AwsError: another view has waited for it for long.
        """
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise AwsError("AWS has not answered yet: load the page again later", silent=True)
        try:
            if time.monotonic() - self._read_at >= self._seconds:
                try:
                    self._outcome = self._read()
                except BucketcastError as error:
                    self._outcome = error
                self._read_at = time.monotonic()
            outcome = self._outcome
        finally:
            self._lock.release()
        if isinstance(outcome, BucketcastError):
            raise outcome
        return outcome

    def forget(self) -> None:
        """Let the next view read again, after a change that the console itself made."""
        with self._lock:
            self._read_at = float("-inf")


class Context:
    """The deployment of a command's `Output`, for views in many threads."""

    def __init__(self, out: Output) -> None:
        self.feeds = Feeds()
        self._out = out
        self._lock = Lock()
        self.aws = self._make_clients()
        self.deployment = Shared(lambda: find(self.stack, self.aws), _SECONDS)
        self.deployment.get()

    @property
    def stack(self) -> str:
        return self._out.stack

    @property
    def deployed(self) -> Deployed:
        """The deployment, read again every few seconds.

        Raises:
            NoAnswer: the stack does not exist any more.
            AwsError: AWS cannot be reached.
        """
        return self.deployment.get()

    def clients(self, **given: Any) -> Aws:
        """Return the clients, or new ones with these arguments."""
        return self._make_clients(**given) if given else self.aws

    def _make_clients(self, **given: Any) -> Aws:
        """Return all clients: making one is not safe among threads, using one is."""
        with self._lock:
            aws = self._out.aws(**given)
            for name, value in vars(Aws).items():
                if isinstance(value, cached_property):
                    getattr(aws, name)
        return aws


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context
