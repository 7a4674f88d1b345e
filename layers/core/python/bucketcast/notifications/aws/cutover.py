"""The time from which S3 certainly uses the transport that was last configured.

"After you create or change the bucket notification configuration, it usually takes about five
minutes for the changes to take effect": until then the old transport is kept, and nobody may
rely on the new one.

Source: "Enabling notifications" of the Amazon S3 user guide.
"""

import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.errors import BucketcastError
from bucketcast.notifications.document import WHOLE, Part
from bucketcast.state.table import Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final = "#cutovers"
"""A partition key that no bucket name can be, so readers of rules do not see it."""

BY_ATTACH: Final = "attach"
"""The `by` of a bucket that `bucketcast bucket attach` attached."""


class Cutover(NamedTuple):
    """A change of a bucket's transport: the new one, from when it is in effect, and by whom.

    `sure` is in Unix seconds. `attached` is the transport that `bucket attach` had configured
    before a deploy took the bucket over, "" if it had not; `part` are the events that it asked for.
    """

    via: str
    sure: float
    by: str
    attached: str = ""
    part: Part = WHOLE

    @property
    def as_attached(self) -> str:
        """The transport that `bucketcast bucket attach` configured, now or before a deploy."""
        return self.via if self.by == BY_ATTACH else self.attached

    @property
    def when(self) -> str:
        """The time of `sure`, as `2026-01-02 03:04:05Z`."""
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.sure + 1))


class Cutovers:
    """Reads and writes the last change of each bucket, in the state table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._items = Partition(table, KEY, client)

    def of(self, bucket: str) -> Cutover | None:
        """Return the last change of a bucket; None if unknown."""
        found = self._items.get(bucket)
        if not found:
            return None
        attached = found.get("attached", {}).get("S", "")
        part = WHOLE
        if text := found.get("part", {}).get("S"):
            events, prefix, suffix = json.loads(text)
            part = Part(tuple(events), prefix, suffix)
        sure = float(found["sure"]["N"])
        return Cutover(found["via"]["S"], sure, found["by"]["S"], attached, part)

    def require(self, bucket: str, now: float) -> None:
        """Raise while the last change may not be in effect in S3 yet.

        Raises:
            BucketcastError: it was changed too shortly before `now`.
        """
        switch = self.of(bucket)
        if switch and now < switch.sure:
            raise BucketcastError(
                f"how the events of {bucket} come was changed a short while ago, and S3 heeds that "
                f"after minutes only: an object put before {switch.when} may be told by nobody, "
                "and come too late for a listing. Run this again then"
            )

    def put(self, bucket: str, switch: Cutover) -> None:
        part = "" if switch.part.is_whole else json.dumps(switch.part)
        texts = {"via": switch.via, "by": switch.by, "attached": switch.attached, "part": part}
        item: dict[str, Any] = {name: {"S": text} for name, text in texts.items() if text}
        item["sure"] = {"N": f"{switch.sure:.3f}"}
        self._items.put(bucket, item)

    def remove(self, bucket: str) -> None:
        self._items.delete(bucket)
