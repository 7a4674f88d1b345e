"""Write our entry into a bucket's notification configuration and keep everybody else's.

S3 keeps one document per bucket, every write replaces all of it, and no write is conditional. So a
document is read right before it is written, read back afterwards, and repaired if an entry of
somebody else is missing from it.
"""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError

from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications.document import Document

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Change = Callable[[Document], dict[str, Any]]

_READS: Final = 5
_PAUSE_SECONDS: Final = 1.0


class EntryLostError(BucketcastError):
    """S3 dropped an entry of somebody else; the entry is back and ours is not there."""


class ConcurrentWriteError(BucketcastError):
    """Somebody else replaced the document at the same time; writing again may help."""


@dataclass
class NotificationWriter:
    """Reads and writes the notification configurations of the buckets of one account.

    Errors of botocore pass through as they are.
    """

    s3: "S3Client"
    _: KW_ONLY
    entry_id: str
    account: str
    sleep: Callable[[float], None] = time.sleep

    def read(self, bucket: str) -> dict[str, Any]:
        """Return the notification configuration of a bucket."""
        found = self.s3.get_bucket_notification_configuration(
            Bucket=bucket, ExpectedBucketOwner=self.account
        )
        return {key: value for key, value in found.items() if key != "ResponseMetadata"}

    def write(self, bucket: str, change: Change) -> list[str]:
        """Apply `change` to the document; return the changes as texts.

        Raises:
            Overlap: from `change`.
            EntryLostError: an entry of somebody else was missing afterwards.
            ConcurrentWriteError: what was written was not there afterwards.
        """
        before = self.read(bucket)
        after = change(before)
        if after == before:
            return []
        try:
            self._put(bucket, after)
        except BotoCoreError:
            # A lost response may hide a completed write.
            self._restore(bucket, before, after)
            raise
        self._verify(bucket, before, after)
        return notifications.changes(before, after, self.entry_id)

    def _verify(self, bucket: str, before: Document, after: Document) -> None:
        seen = self._read_back(bucket, before)
        if notifications.lost(before, seen, self.entry_id):
            self._restore(bucket, before, after)
            raise EntryLostError(
                f"S3 did not keep every entry of {bucket}'s notifications; they were put back as "
                "they were"
            )
        ours_left = notifications.has_entry(seen, self.entry_id)
        if notifications.lost(after, seen) or (
            ours_left and not notifications.has_entry(after, self.entry_id)
        ):
            raise ConcurrentWriteError(
                f"somebody else wrote {bucket}'s notifications at the same time; try again"
            )

    def _read_back(self, bucket: str, before: Document) -> dict[str, Any]:
        """Return the document as it is now; for a moment S3 may still show the old one."""
        seen = self.read(bucket)
        for _ in range(_READS - 1):
            if seen != before:
                break
            self.sleep(_PAUSE_SECONDS)
            seen = self.read(bucket)
        return seen

    def _restore(self, bucket: str, before: Document, after: Document) -> None:
        """Undo our change in what is there now, and keep what others added to it."""
        seen = self.read(bucket)
        restored = notifications.restored(before, after, seen, self.entry_id)
        if restored != seen:
            self._put(bucket, restored)

    def _put(self, bucket: str, document: Document) -> None:
        wanted: Any = document
        self.s3.put_bucket_notification_configuration(
            Bucket=bucket,
            ExpectedBucketOwner=self.account,
            NotificationConfiguration=wanted,
            # A destination of somebody else that is gone must not keep our entry in.
            SkipDestinationValidation=not notifications.has_entry(document, self.entry_id),
        )
