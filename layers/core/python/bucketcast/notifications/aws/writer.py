"""Write our entry into a bucket's notification configuration, and keep the entries of others.

S3 keeps one document per bucket, every write replaces all of it, and no write is conditional. So
the writer reads the document right before the write and again afterwards, and repairs it if another
owner's entry is missing.
"""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError, Busy
from bucketcast.notifications import document as notifications
from bucketcast.notifications.document import Document

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Change = Callable[[Document], dict[str, Any]]

_READS: Final = 5
_PAUSE_SECONDS: Final = 1.0


class EntryLostError(BucketcastError):
    """S3 dropped another owner's entry; it is restored, and ours is not written."""


class ConcurrentWriteError(Busy):
    """Another client replaced the document at the same time; writing again may help."""


@dataclass
class NotificationWriter:
    """Reads and writes the notification configurations of the buckets of one account.

    Errors of botocore are raised unchanged.
    """

    s3: "S3Client"
    _: KW_ONLY
    entry_id: str
    account: str
    sleep: Callable[[float], None] = time.sleep
    validates: bool = True
    """Whether S3 tries all destinations of a document with our entry before it takes it."""

    def read(self, bucket: str) -> dict[str, Any]:
        """Return the notification configuration of a bucket."""
        configuration = self.s3.get_bucket_notification_configuration(
            Bucket=bucket, ExpectedBucketOwner=self.account
        )
        return {key: value for key, value in configuration.items() if key != "ResponseMetadata"}

    def write(self, bucket: str, change: Change) -> list[str]:
        """Apply `change` to the document; return the changes as texts.

        Raises:
            Overlap: raised by `change`.
            EntryLostError: another owner's entry was missing afterwards.
            ConcurrentWriteError: our change was missing afterwards.
        """
        before = self.read(bucket)
        after = change(before)
        if after == before:
            return []
        self._put_or_restore(bucket, before, after)
        self._verify(bucket, before, after)
        return notifications.describe_changes(before, after, self.entry_id)

    def validate(self, bucket: str) -> None:
        """Let S3 try the queue of our entry again, by writing the same document; none, no try.

        Raises:
            ClientError: S3 cannot write to a destination of the document, which stays as it is.
        """
        document = self.read(bucket)
        if notifications.has_entry(document, self.entry_id):
            self._put(bucket, document)

    def _put_or_restore(self, bucket: str, before: Document, after: Document) -> None:
        try:
            self._put(bucket, after)
        except BotoCoreError:
            # A lost response may hide a completed write.
            self._restore(bucket, before, after)
            raise

    def _verify(self, bucket: str, before: Document, after: Document) -> None:
        current = self._read_back(bucket, before)
        if notifications.lost_entries(before, current, self.entry_id):
            self._restore(bucket, before, after)
            raise EntryLostError(
                f"S3 did not keep every entry of {bucket}'s notifications; they were put back as "
                "they were"
            )
        has_ours = notifications.has_entry(current, self.entry_id)
        if notifications.lost_entries(after, current) or (
            has_ours and not notifications.has_entry(after, self.entry_id)
        ):
            raise ConcurrentWriteError(
                f"somebody else wrote {bucket}'s notifications at the same time; try again"
            )

    def _read_back(self, bucket: str, before: Document) -> dict[str, Any]:
        """Read the document again; for a moment S3 may still return the old one."""
        current = self.read(bucket)
        for _ in range(_READS - 1):
            if current != before:
                break
            self.sleep(_PAUSE_SECONDS)
            current = self.read(bucket)
        return current

    def _restore(self, bucket: str, before: Document, after: Document) -> None:
        """Undo our change in the current document, and keep others' additions."""
        current = self.read(bucket)
        restored = notifications.restore(before, after, current, self.entry_id)
        if restored != current:
            self._put(bucket, restored)

    def _put(self, bucket: str, document: Document) -> None:
        configuration: Any = document
        self.s3.put_bucket_notification_configuration(
            Bucket=bucket,
            ExpectedBucketOwner=self.account,
            NotificationConfiguration=configuration,
            # A deleted destination of another entry must not prevent the removal of ours.
            SkipDestinationValidation=not self.validates
            or not notifications.has_entry(document, self.entry_id),
        )


def is_unreachable_destination(error: ClientError) -> bool:
    """Return True if S3 cannot write to a destination of the document, which it does not name."""
    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
    return code == "InvalidArgument" and "validate" in message
