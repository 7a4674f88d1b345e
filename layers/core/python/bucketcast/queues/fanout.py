"""The targets' queues, from the side of ingest."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

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

    An event that no message can hold is buried in `dead`, for each target that wants it.
    """

    def __init__(self, prefix: str, client: "SQSClient", dead: Queue, *, fifo: bool) -> None:
        self._prefix = prefix
        self._client = client
        self._dead = dead
        self._fifo = fifo

    def send(self, arn: str, outbox: Outbox) -> set[str]:
        """The ids of the messages whose events SQS did not take: they must be read again.

        A rule may name a target that is not deployed any more; its events go nowhere, as in
        MinIO, and the log says so.
        """
        most = 1 if self._fifo else MAX_EVENTS
        try:
            packed = list(pack(outbox.deliveries, round(time.time() * 1000), most=most))
        except TooLarge as error:
            stay = self._bury(arn, outbox, error)
            return stay | self.send(arn, outbox.without(error.place))
        messages = list(self._messages(arn, outbox, packed))
        queue = self._queue(arn)
        try:
            failed = queue.send(messages) if queue else None
        except self._client.exceptions.QueueDoesNotExist:
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

    def _queue(self, text: str) -> Queue | None:
        try:
            url = queue_url(self._prefix, Arn.parse(text), fifo=self._fifo)
        except ValueError:
            return None
        return Queue(url, self._client)

    def _messages(self, arn: str, outbox: Outbox, packed: list[Packed]) -> Iterator[Outgoing]:
        for one in packed:
            if self._fifo:
                token = outbox.deliveries[one.start].copy_id
                yield Outgoing(one.body, group=arn, token=token)
            else:
                yield Outgoing(one.body)
