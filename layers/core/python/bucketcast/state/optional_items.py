"""Items of the state table that a batch can do without.

If a call times out, as from a VPC without access to DynamoDB, the table is not called again for a
while, since each call would make its batch wait.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from bucketcast.state.table import Partition, is_refusal
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PAUSE_SECONDS: Final = 60.0


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

    def call(self, operation: str, key: str, **parameters: Any) -> Any:
        """Return DynamoDB's response about one item; None if it gives none.

        Raises:
            ClientError: a condition on the item failed.
        """
        if time.monotonic() < self._not_before:
            return None
        reason: Exception
        try:
            return self.partition.call(operation, key, **parameters)
        except ClientError as error:
            if is_refusal(error):
                raise
            reason = error
        except BotoCoreError as error:
            reason = error
        if isinstance(reason, ConnectTimeoutError | ReadTimeoutError):
            self._not_before = time.monotonic() + _PAUSE_SECONDS
        logger.warning(self._consequence, target=key, reason=str(reason))
        return None
