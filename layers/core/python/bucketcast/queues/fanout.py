"""The targets' queues, from the side of ingest."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.arn import Arn
from bucketcast.envelope import MAX_EVENTS, Packed, TooLarge, pack
from bucketcast.ingest import Outbox
from bucketcast.queues import Outgoing, Queue, buried
from bucketcast.queues.address import queue_url
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class Fanout:
    """Sends outboxes; `prefix` is the URL of every target's queue up to its kind.

    An event that no message can hold is buried in `dead`, for each target that wants it. `made`
    gives the name of the queue of a target that was made at run time, by its ARN.
    """

    def __init__(
        self,
        prefix: str,
        client: "SQSClient",
        dead: Queue,
        *,
        fifo: bool,
        made: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self._prefix = prefix
        self._client = client
        self._dead = dead
        self._fifo = fifo
        self._made = made

    def send(self, arn: str, outbox: Outbox) -> set[str]:
        """The ids of the messages whose events SQS did not take: they must be read again.

        A rule may name a target that is not deployed any more; its events go nowhere, as in
        MinIO, and the log says so.
        """
        where = self._place(arn)
        most = 1 if where and where.fifo else MAX_EVENTS
        try:
            packed = list(pack(outbox.deliveries, round(time.time() * 1000), most=most))
        except TooLarge as error:
            stay = self._bury(arn, outbox, error)
            return stay | self.send(arn, outbox.without(error.place))
        messages = list(_messages(arn, outbox, packed, fifo=bool(where and where.fifo)))
        try:
            failed = where.queue.send(messages) if where else None
        except self._client.exceptions.QueueDoesNotExist:
            if where and where.at_run_time:
                logger.warning("the queue of a target is being made or removed", target=arn)
                return set(outbox.origins)
            failed = None
        except (BotoCoreError, ClientError) as error:
            logger.error("SQS did not take events", target=arn, reason=str(error))
            return set(outbox.origins)
        if failed is None:
            logger.warning("a rule names a target that is not deployed", target=arn)
            return set()
        for place, reason in failed.items():
            logger.error("SQS did not take a message", target=arn, reason=reason, place=place)
        return {
            origin
            for place in failed
            for origin in outbox.origins[packed[place].start : packed[place].stop]
        }

    def _bury(self, arn: str, outbox: Outbox, error: TooLarge) -> set[str]:
        logger.error("an event is too large", target=arn, reason=str(error))
        record = bytes(outbox.deliveries[error.place].event.record).decode()
        grave = buried(record, str(error), target=arn, error=type(error).__name__)
        try:
            taken = not self._dead.send([grave])
        except (BotoCoreError, ClientError) as refusal:
            logger.error("an event that is too large stays", reason=str(refusal))
            taken = False
        return set() if taken else {outbox.origins[error.place]}

    def _place(self, text: str) -> "_Place | None":
        if name := self._made(text):
            url = f"{self._prefix.rpartition('/')[0]}/{name}"
            fifo = name.endswith(".fifo")
            return _Place(Queue(url, self._client), fifo=fifo, at_run_time=True)
        try:
            url = queue_url(self._prefix, Arn.parse(text), fifo=self._fifo)
        except ValueError:
            return None
        return _Place(Queue(url, self._client), fifo=self._fifo, at_run_time=False)


class _Place(NamedTuple):
    """A target's queue; that of a target made at run time need not be what the others are."""

    queue: Queue
    fifo: bool
    at_run_time: bool


def _messages(arn: str, outbox: Outbox, packed: list[Packed], *, fifo: bool) -> Iterator[Outgoing]:
    for one in packed:
        if fifo:
            token = outbox.deliveries[one.start].copy_id
            yield Outgoing(one.body, group=arn, token=token)
        else:
            yield Outgoing(one.body)
