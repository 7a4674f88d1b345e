"""What the views share: the deployment, and its AWS clients."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Lock, Thread
from typing import Any, Final, Generic, TypeVar

from starlette.requests import Request

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.deployment import Deployed, find
from bucketcast.terminal.output import Output

T = TypeVar("T")
_SECONDS: Final = 5.0
"""How long a view may show a deployment that has changed elsewhere."""

_PATIENCE_SECONDS: Final = 10.0


class Shared(Generic[T]):
    """What a function returned last, for views in many threads; after `seconds` it is called again.

    A thread of its own calls it, once for all who wait. AWS may take minutes to fail: no view
    waits that long.
    """

    def __init__(self, read: Callable[[], T], seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = Lock()
        self._outcome: Future[T] | None = None
        self._ended_at = 0.0

    def get(self) -> T:
        """Return the value.

        Raises:
            BucketcastError: it cannot be read.
            AwsError: AWS does not answer.
        """
        try:
            return self.begin().result(_PATIENCE_SECONDS)
        except TimeoutError:
            raise AwsError(
                "AWS has not answered yet: load the page again later", silent=True
            ) from None

    @property
    def newest(self) -> Future[T] | None:
        """The value or the call that was begun last."""
        return self._outcome

    def begin(self) -> Future[T]:
        """Return the value, or the call that is on its way, and do not wait for it."""
        with self._lock:
            is_old = time.monotonic() - self._ended_at >= self._seconds
            if self._outcome is None or (self._outcome.done() and is_old):
                self._outcome = Future()
                Thread(target=self._call, args=(self._outcome,), daemon=True).start()
            return self._outcome

    def forget(self) -> None:
        """Let the next view read again, after a change that the console itself made."""
        with self._lock:
            self._outcome = None

    def _call(self, outcome: Future[T]) -> None:
        try:
            settle = partial(outcome.set_result, self._read())
        except Exception as error:  # noqa: BLE001 - raised to all who wait
            settle = partial(outcome.set_exception, error)
        # Not when it began: what takes longer than `seconds` would be old before anybody sees it.
        self._ended_at = time.monotonic()
        settle()


class Context:
    """The deployment of a command's `Output`, for views in many threads."""

    def __init__(self, out: Output) -> None:
        self.stack = out.stack
        self._make_clients = out.aws
        self.aws = out.aws()
        find(self.stack, self.aws)  # here, where a login may ask for a code, and be interrupted
        self.deployment = Shared(lambda: find(self.stack, self.aws), _SECONDS)

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


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context
