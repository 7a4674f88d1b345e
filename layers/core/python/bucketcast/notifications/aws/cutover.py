"""The time when S3 has applied the last change of a bucket's transport.

"After you create or change the bucket notification configuration, it usually takes about five
minutes for the changes to take effect": until then, keep the old transport and do not rely on the
new one.

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
"""A partition key that no bucket can have, so readers of rules do not see it."""

BY_ATTACH: Final = "attach"
"""The `by` of a bucket that `bucketcast bucket attach` attached."""


class Cutover(NamedTuple):
    """A change of a bucket's transport to `via`, made `by` an attach or a deploy.

    `effective_at` is Unix seconds. `attached` is the transport of `bucket attach` before a deploy
    took the bucket over, "" if there was none; `part` are the events that it takes.
    """

    via: str
    effective_at: float
    by: str
    attached: str = ""
    part: Part = WHOLE

    @property
    def as_attached(self) -> str:
        """The transport that `bucketcast bucket attach` configured, now or before a deploy."""
        return self.via if self.by == BY_ATTACH else self.attached

    @property
    def when(self) -> str:
        """The time of `effective_at`, as `2026-01-02 03:04:05Z`."""
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.effective_at + 1))


class Cutovers:
    """Reads and writes the last change of each bucket, in the state table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._items = Partition(table, KEY, client)

    def of(self, bucket: str) -> Cutover | None:
        """Return the last change of a bucket; None if unknown."""
        item = self._items.get(bucket)
        if not item:
            return None
        attached = item.get("attached", {}).get("S", "")
        part = WHOLE
        if text := item.get("part", {}).get("S"):
            events, prefix, suffix = json.loads(text)
            part = Part(tuple(events), prefix, suffix)
        sure = float(item["sure"]["N"])
        return Cutover(item["via"]["S"], sure, item["by"]["S"], attached, part)

    def require(self, bucket: str, now: float) -> None:
        """Require that S3 has applied the last change.

        Raises:
            BucketcastError: it may not be in effect yet at `now`.
        """
        cutover = self.of(bucket)
        if cutover and now < cutover.effective_at:
            raise BucketcastError(
                f"the transport of {bucket} was changed a short while ago, and S3 applies that "
                f"only after minutes: an object put before {cutover.when} may cause no event, and "
                "be missing from a listing. Run this again then"
            )

    def put(self, bucket: str, cutover: Cutover) -> None:
        part = "" if cutover.part.is_whole else json.dumps(cutover.part)
        texts = {"via": cutover.via, "by": cutover.by, "attached": cutover.attached, "part": part}
        item: dict[str, Any] = {name: {"S": text} for name, text in texts.items() if text}
        item["sure"] = {"N": f"{cutover.effective_at:.3f}"}
        self._items.put(bucket, item)

    def remove(self, bucket: str) -> None:
        self._items.delete(bucket)
