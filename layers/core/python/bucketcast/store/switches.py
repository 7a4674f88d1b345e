"""Since when S3 is sure to tell of a bucket's events in the way that it was last wired for.

"After you create or change the bucket notification configuration, it usually takes about five
minutes for the changes to take effect": until then the old way is kept, and nobody may rely on the
new one.

Source: "Enabling notifications" of the Amazon S3 user guide.
"""

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final = "#wired"
"""In the place of a bucket, whose names have no such sign: whoever reads rules does not see it."""
TAKES_EFFECT: Final = 600
"""Seconds after which a change is in effect: twice what S3 names."""

BY_ATTACH: Final = "attach"
"""By whom a bucket was wired that the command line attached."""


class NotInEffectError(BucketcastError):
    """S3 may not heed yet how the bucket was wired; the text says from when it surely does."""


class Switch(NamedTuple):
    """A change of a bucket's wiring: to which way, from when it is surely in effect, and by whom.

    `sure` is in seconds since 1970. `attached` is the way in which the command line had attached
    the bucket before a deploy took it over, "" where it had not.
    """

    via: str
    sure: float
    by: str
    attached: str = ""

    @property
    def as_attached(self) -> str:
        """The way in which the command line attached the bucket, now or before a deploy."""
        return self.via if self.by == BY_ATTACH else self.attached

    @property
    def when(self) -> str:
        """When it is surely in effect, for a reader: `2026-01-02 03:04:05Z`."""
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.sure + 1))


class Switches:
    """The last change of each bucket, beside the rules in their table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def of(self, bucket: str) -> Switch | None:
        """None where none is known."""
        found = self._client.get_item(
            TableName=self._table, Key=_key(bucket), ConsistentRead=True
        ).get("Item")
        if not found:
            return None
        attached = found.get("attached", {}).get("S", "")
        return Switch(found["via"]["S"], float(found["sure"]["N"]), found["by"]["S"], attached)

    def demand(self, bucket: str, now: float) -> None:
        """Refuse to go on while S3 may not heed yet how the bucket was wired.

        Raises:
            NotInEffectError: it was changed too short a time before `now`.
        """
        switch = self.of(bucket)
        if switch and now < switch.sure:
            raise NotInEffectError(
                f"how the events of {bucket} come was changed a short while ago, and S3 heeds that "
                f"after minutes only: an object put before {switch.when} may be told by nobody, "
                "and come too late for a listing. Run this again then"
            )

    def put(self, bucket: str, switch: Switch) -> None:
        texts = {"via": switch.via, "by": switch.by, "attached": switch.attached}
        item: dict[str, Any] = {name: {"S": text} for name, text in texts.items() if text}
        item["sure"] = {"N": f"{switch.sure:.3f}"}
        self._client.put_item(TableName=self._table, Item={**_key(bucket), **item})

    def remove(self, bucket: str) -> None:
        self._client.delete_item(TableName=self._table, Key=_key(bucket))


def _key(bucket: str) -> dict[str, Any]:
    return {"bucket": {"S": KEY}, "rule": {"S": bucket}}
