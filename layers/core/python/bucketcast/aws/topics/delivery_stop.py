"""A stop of the delivery from one queue: SQS shows a message only while nobody is at work on it."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.queues.depth import depth

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command: Ctrl-C, another program, a terminal that is closed."""
_SETTLED_SECONDS: Final = 90.0
"""How long Lambda may refuse to change a mapping because an earlier change is in progress."""
_LOOK_SECONDS: Final = 1.0


class DeliveryStoppedError(BucketcastError):
    """A delivery could not be started again; the text has the command that does it."""


@contextmanager
def stopped(queue: str, sqs: "SQSClient", functions: "LambdaClient") -> Iterator[None]:
    """Stop Lambda from reading a queue; it goes on at the end, whatever happened before.

    Only a process that is killed outright leaves it stopped; the next such call ends that.

    Raises:
        DeliveryStoppedError: AWS did not start it again.
    """
    mappings = [each["UUID"] for each in _mappings(queue, sqs, functions)]
    before = {each: signal.signal(each, _interrupt) for each in _SIGNALS}
    try:
        for each in mappings:
            _switch(each, functions, on=False)
        yield
    finally:
        for each in _SIGNALS:  # a second Ctrl-C would leave it stopped
            signal.signal(each, signal.SIG_IGN)
        try:
            with ExitStack() as switches:  # which calls all, also if one fails
                for each in mappings:
                    switches.callback(_start, each, functions)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def is_stopped(queue: str, sqs: "SQSClient", functions: "LambdaClient") -> bool:
    """Return whether Lambda does not read a queue because somebody has stopped it."""
    found = _mappings(queue, sqs, functions)
    return bool(found) and all(each["State"] in ("Disabling", "Disabled") for each in found)


def until_visible(
    queue: str, sqs: "SQSClient", seconds: float, report: Callable[[int], None] = lambda _: None
) -> None:
    """Wait until no message is in flight or between two tries, or until so many seconds are over.

    `report` is called with the number of those that still are, whenever it changes.
    """
    until, before = time.monotonic() + seconds, 0
    while (hidden := depth(queue, sqs).hidden) and time.monotonic() < until:
        if hidden != before:
            report(hidden)
        before = hidden
        time.sleep(_LOOK_SECONDS)


def _mappings(queue: str, sqs: "SQSClient", functions: "LambdaClient") -> Sequence[Any]:
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
    found = functions.list_event_source_mappings(EventSourceArn=arn["QueueArn"])
    return found["EventSourceMappings"]


def _start(mapping: str, functions: "LambdaClient") -> None:
    try:
        _switch(mapping, functions, on=True)
    except (BotoCoreError, ClientError) as error:
        raise DeliveryStoppedError(
            f"the delivery is still stopped, as AWS did not start it again: {error}; do it with "
            f"`aws lambda update-event-source-mapping --uuid {mapping} --enabled`"
        ) from error


def _switch(mapping: str, functions: "LambdaClient", *, on: bool) -> None:
    until = time.monotonic() + _SETTLED_SECONDS
    while True:
        try:
            functions.update_event_source_mapping(UUID=mapping, Enabled=on)
        except (
            functions.exceptions.ResourceConflictException,
            functions.exceptions.ResourceInUseException,
        ):
            if time.monotonic() > until:
                raise
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
