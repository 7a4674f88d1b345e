"""Change the notifications of a bucket to a deploy's configuration, without a gap.

S3 applies a change only after minutes. So a new transport is added first, both stay for that time,
and then the old one is removed: a notification entry by this module, an EventBridge rule by
CloudFormation after the custom resource's response. Meanwhile events arrive twice.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.cutover import BY_ATTACH, Cutover, Cutovers
from bucketcast.notifications.aws.writer import Change, ConcurrentWriteError, NotificationWriter
from bucketcast.notifications.document import WHOLE, Document, Part

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = logging.getLogger(__name__)


class DeployedBucket:
    """One bucket of a deploy, by the properties of its custom resource.

    `retry` repeats a call until a permission that was just granted is in effect.
    """

    def __init__(  # noqa: PLR0913 - the parts of CloudFormation's request
        self,
        s3: "S3Client",
        cutovers: Cutovers | None,
        properties: Mapping[str, str],
        *,
        retry: Callable[[Callable[[], object]], None],
        by: str = "",
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._cutovers = cutovers
        self._properties = properties
        self._retry = retry
        self._by = by
        self._sleep = sleep
        self._now = now
        self.name = properties["Bucket"]
        self._entry_id = properties["Id"]
        self._overlap = float(properties.get("Overlap", 0))
        self._writer = NotificationWriter(
            s3, entry_id=self._entry_id, account=properties["Account"], sleep=sleep
        )

    def was_attached(self) -> Cutover | None:
        """Return the last cutover if `bucketcast bucket attach` had attached the bucket."""
        cutover = self._last_cutover()
        return cutover if cutover and cutover.as_attached else None

    def restore_attachment(self, cutover: Cutover) -> None:
        """Restore the transport from before a deploy that is rolled back.

        CloudFormation then removes the EventBridge rule, so our entry must be in effect first.

        Raises:
            Overlap: another entry takes our events now.
        """
        via = cutover.as_attached
        if cutover.by != BY_ATTACH:
            change = partial(self._to_queue, part=cutover.part) if via == "sqs" else self._to_rule
            self._write(change)
            overlap = self._overlap if via == "sqs" else 0.0
            cutover = Cutover(via, self._now() + overlap, BY_ATTACH, part=cutover.part)
            self._remember(cutover)
        if via != self._properties["Via"] and (remaining := cutover.effective_at - self._now()) > 0:
            log.info("%s: both transports for %s s", self.name, remaining)
            self._sleep(remaining)

    def remove(self) -> None:
        """Remove our entry only."""
        self._write(self._without_entry)
        if cutovers := self._cutovers:
            self._retry(lambda: cutovers.remove(self.name))

    def validate(self) -> None:
        """Let S3 try whether it may write to the queue with its new key.

        Raises:
            BucketcastError: it may not, also after retries.
            ClientError: S3 refused for another reason.
        """
        try:
            self._retry(lambda: self._writer.validate(self.name))
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidArgument":
                raise
            raise BucketcastError(
                f"S3 cannot write to the ingress queue with the new kms_key, or another entry of "
                f"{self.name} has no destination any more: complete the key's policy, as "
                f"docs/operations.md has it, and deploy again ({error})"
            ) from None

    def attach(self, previous: str) -> None:
        """Send the events by `Via`; `previous` is the old transport, "" for none.

        Raises:
            Overlap: another entry takes our events.
            ClientError: AWS refused, after retries if waiting could help.
        """
        via = self._properties["Via"]
        changed = self._write(self._to_queue if via == "sqs" else notifications.enable_eventbridge)
        if via == "sqs":
            both = previous == "eventbridge"
        else:
            both = notifications.has_entry(self._writer.read(self.name), self._entry_id)
        if not self._cutovers:
            return
        cutover = self._last_cutover()
        if changed or both or cutover is None or cutover.via != via:
            attached, part = (cutover.as_attached, cutover.part) if cutover else ("", WHOLE)
            self._remember(Cutover(via, self._now() + self._overlap, self._by, attached, part))
        if both:
            log.info("%s: both transports for %s s", self.name, self._overlap)
            self._sleep(self._overlap)
            self._finish(via)

    def _finish(self, via: str) -> None:
        """Remove the old transport, unless another request came meanwhile, as in a rollback."""
        cutover = self._last_cutover()
        if cutover is None or cutover.by != self._by:
            log.warning("%s: attached by another request meanwhile", self.name)
            return
        self._write(self._to_queue if via == "sqs" else self._without_entry)

    def _last_cutover(self) -> Cutover | None:
        results: list[Cutover | None] = [None]
        if cutovers := self._cutovers:
            self._retry(lambda: results.append(cutovers.of(self.name)))
        return results[-1]

    def _remember(self, cutover: Cutover) -> None:
        if cutovers := self._cutovers:
            self._retry(lambda: cutovers.put(self.name, cutover))

    def _to_queue(self, before: Document, part: Part = WHOLE) -> dict[str, Any]:
        return notifications.attach(before, self._entry_id, self._properties["QueueArn"], part)

    def _to_rule(self, before: Document) -> dict[str, Any]:
        return self._without_entry(notifications.enable_eventbridge(before))

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry_id)

    def _write(self, change: Change) -> bool:
        """Change the document; return False if nothing had to change."""
        changes: list[str] = []

        def write() -> None:
            try:
                changes.extend(self._writer.write(self.name, change))
            except ConcurrentWriteError as error:
                changes.append(str(error))  # it may show later, when a retry finds no change
                raise

        self._retry(write)
        for text in changes:
            log.info("%s: %s", self.name, text)
        return bool(changes)
