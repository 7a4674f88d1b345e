"""The lease of a bucket's scan, an item of the state table: one scan of a bucket at a time.

Its owner renews it while it scans and deletes it at the end. The lease of a scan that was killed
expires, and then the next scan takes it over at once.

Whether it has expired, the next scan tells by its own clock: the two clocks may differ by what is
left of a lease between renewals, 50 s. If they differ by more, or the owner was suspended for that
long, a lease is taken from a scan that still runs. So a lease only saves two scans from doing the
same work; which of them sends its alerts is decided by the pointer to their state.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from bucketcast.state.table import EXPIRES, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "#scans"
"""No bucket has such a name."""
LEASE_SECONDS: Final = 60
"""The seconds from a renewal until the lease expires."""
RENEWAL_SECONDS: Final = 10.0
_OURS: Final = "holder = :holder"
_FREE: Final = "attribute_not_exists(holder) OR #expires < :now"


class ScanLease:
    """The lease of a bucket, for one run; `clock` returns seconds since 1970.

    Runs are told apart by a token: one that is started twice has the same name twice.
    """

    def __init__(
        self,
        table: str,
        bucket: str,
        run: str,
        client: "DynamoDBClient",
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._items = Partition(table, PARTITION, client)
        self._bucket = bucket
        self._run = run
        self._holder = {":holder": {"S": uuid4().hex}}
        self._clock = clock

    def take(self) -> bool:
        """Take the lease if it is free or has expired; return whether it is ours.

        It is also if the client repeated a call that succeeded but whose response was lost.
        """
        return self._put(
            ConditionExpression=f"{_FREE} OR {_OURS}",
            ExpressionAttributeNames={"#expires": EXPIRES},
            ExpressionAttributeValues={**self._holder, ":now": {"N": str(int(self._clock()))}},
        )

    def renew(self) -> bool:
        """Extend the lease; return whether it is still ours, even if it had expired."""
        return self._put(ConditionExpression=_OURS, ExpressionAttributeValues=self._holder)

    def release(self) -> None:
        """Delete the lease, unless another run owns it by now."""
        self._items.delete(
            self._bucket, ConditionExpression=_OURS, ExpressionAttributeValues=self._holder
        )

    def owner(self) -> str:
        """Return the run that owns the lease, "" if none does."""
        return str(self._items.get(self._bucket).get("run", {}).get("S", ""))

    def _put(self, **condition: Any) -> bool:
        item: Mapping[str, Any] = {
            "holder": self._holder[":holder"],
            "run": {"S": self._run},
            EXPIRES: {"N": str(int(self._clock()) + LEASE_SECONDS)},
        }
        return self._items.put(self._bucket, item, **condition)
