"""Since when S3 surely applies what a bucket is attached by.

"After you create or change the bucket notification configuration, it usually takes about five
minutes for the changes to take effect": until then, do not rely on what was added.

Source: "Enabling notifications" of the Amazon S3 user guide.
"""

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.errors import BucketcastError
from bucketcast.state.table import Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final = "#attachments"
"""A partition key that no bucket can have, so readers of rules do not see it."""


class Attachment(NamedTuple):
    """S3 applies all that was added to a bucket `since` then, in Unix seconds; 0 if unknown.

    `attached` are the transports that `bucketcast bucket attach` has added, not a deploy.
    """

    since: float = 0.0
    attached: frozenset[str] = frozenset()

    @property
    def when(self) -> str:
        """The time of `since`, as `2026-01-02 03:04:05Z`."""
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.since + 1))


class AttachmentTimes:
    """Reads and writes the attachment of each bucket in the state table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._items = Partition(table, KEY, client)

    def of(self, bucket: str) -> Attachment:
        """Return the attachment of a bucket."""
        item = self._items.get(bucket)
        since = float(item["since"]["N"]) if item else 0.0
        return Attachment(since, frozenset(item.get("attached", {}).get("SS", ())))

    def require(self, bucket: str, now: float) -> None:
        """Require that S3 has applied what was added last.

        Raises:
            BucketcastError: it may not be in effect yet at `now`.
        """
        attachment = self.of(bucket)
        if now < attachment.since:
            raise BucketcastError(
                f"{bucket} was attached a short while ago, and S3 applies that only after minutes: "
                f"an object put before {attachment.when} may cause no event, and be missing from a "
                "listing. Wait until then"
            )

    def add(
        self, bucket: str, since: float, attached: Collection[str] = (), *, changed: bool
    ) -> None:
        """Store since when S3 applies what was added, if the bucket changed or it is unknown."""
        before = self.of(bucket)
        if changed or not before.since or not before.attached >= {*attached}:
            self.put(bucket, Attachment(since, before.attached | {*attached}))

    def put(self, bucket: str, attachment: Attachment) -> None:
        item: dict[str, Any] = {"since": {"N": f"{attachment.since:.3f}"}}
        if attachment.attached:
            item["attached"] = {"SS": sorted(attachment.attached)}
        self._items.put(bucket, item)

    def remove(self, bucket: str) -> None:
        self._items.delete(bucket)
