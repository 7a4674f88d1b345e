"""Items of the state table that a batch can do without.

After a call that failed or was slow the table is left alone for many times as long: so a table that
is throttled, or out of reach of a VPC, takes a small part of the time of batches.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.state.table import Partition, is_refusal
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_SLOW_SECONDS: Final = 1.0
_TIMES_AS_LONG: Final = 20


class OptionalItems:
    """The items of a partition, read without strong consistency.

    `client` creates the client on first use. `consequence` is the log's text for when the table
    does not answer.
    """

    def __init__(
        self, table: str, partition: str, client: "Callable[[], DynamoDBClient]", consequence: str
    ) -> None:
        self._create: Callable[[], Partition] = lambda: Partition(
            table, partition, client(), consistent=False
        )
        self._consequence = consequence
        self._not_before = 0.0

    @cached_property
    def partition(self) -> Partition:
        """The partition, for calls that raise when the table does not answer."""
        return self._create()

    def call(self, operation: str, key: str, *, always: bool = False, **parameters: Any) -> Any:
        """Return DynamoDB's response about one item; None if it gives none.

        `always`: it is asked even if it is to be left alone.

        Raises:
            ClientError: a condition on the item failed.
        """
        if time.monotonic() < self._not_before and not always:
            return None
        partition = self.partition  # a client is slow to create, which says nothing of the table
        began = time.monotonic()
        answer = None
        try:
            answer = partition.call(operation, key, **parameters)
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and is_refusal(error):
                raise
            logger.warning(self._consequence, target=key, reason=str(error))
        seconds = time.monotonic() - began
        if answer is None or seconds > _SLOW_SECONDS:
            self._not_before = began + seconds * (1 + _TIMES_AS_LONG)
        return answer
