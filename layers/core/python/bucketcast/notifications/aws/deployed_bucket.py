"""Change the notifications of a bucket to a deploy's configuration, without a gap.

S3 applies a change after minutes only. So where the transport changes, the new one is added first,
both stay for as long as that may take, and only then is the old one removed: the notification entry
here, the EventBridge rule by CloudFormation once the custom resource has responded. Events of that
time arrive twice.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.cutover import BY_ATTACH, Cutover, Cutovers
from bucketcast.notifications.aws.writer import Change, ConcurrentWriteError, NotificationWriter
from bucketcast.notifications.document import WHOLE, Document, Part

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = logging.getLogger(__name__)


class DeployedBucket:
    """One bucket of a deploy, as the properties of its custom resource describe it.

    `retried` repeats a call while a permission that was just granted may not be in effect.
    """

    def __init__(  # noqa: PLR0913 - what a request of CloudFormation is made of
        self,
        s3: "S3Client",
        switches: Cutovers | None,
        properties: Mapping[str, str],
        *,
        retried: Callable[[Callable[[], object]], None],
        by: str = "",
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._switches = switches
        self._properties = properties
        self._retried = retried
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
        """Return the bucket's last cutover if `bucketcast bucket attach` had it before a deploy."""
        cutover = self._last_cutover()
        return cutover if cutover and cutover.as_attached else None

    def attach_again(self, cutover: Cutover) -> None:
        """Restore the transport from before a deploy that is rolled back.

        CloudFormation removes the EventBridge rule after this, so our entry has to be in effect.

        Raises:
            Overlap: another entry takes our events by now.
        """
        via = cutover.as_attached
        if cutover.by != BY_ATTACH:
            again = partial(self._to_queue, part=cutover.part) if via == "sqs" else self._to_rule
            self._write(again)
            overlap = self._overlap if via == "sqs" else 0.0
            cutover = Cutover(via, self._now() + overlap, BY_ATTACH, part=cutover.part)
            self._remember(cutover)
        if via != self._properties["Via"] and (left := cutover.sure - self._now()) > 0:
            log.info("%s: both transports for %s s", self.name, left)
            self._sleep(left)

    def remove(self) -> None:
        """Remove our entry; everything else stays."""
        self._write(self._without_entry)
        if switches := self._switches:
            self._retried(lambda: switches.remove(self.name))

    def bring(self, was: str) -> None:
        """Send the events by `Via`; `was` is the previous transport, "" for none.

        Raises:
            Overlap: another entry takes our events.
            ClientError: AWS refused, also after retries where waiting could help.
        """
        via = self._properties["Via"]
        changed = self._write(self._to_queue if via == "sqs" else notifications.to_eventbridge)
        if via == "sqs":
            both = was == "eventbridge"
        else:
            both = notifications.has_entry(self._writer.read(self.name), self._entry_id)
        if not self._switches:
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
        found: list[Cutover | None] = [None]
        if switches := self._switches:
            self._retried(lambda: found.append(switches.of(self.name)))
        return found[-1]

    def _remember(self, switch: Cutover) -> None:
        if switches := self._switches:
            self._retried(lambda: switches.put(self.name, switch))

    def _to_queue(self, before: Document, part: Part = WHOLE) -> dict[str, Any]:
        return notifications.attach(before, self._entry_id, self._properties["QueueArn"], part)

    def _to_rule(self, before: Document) -> dict[str, Any]:
        return self._without_entry(notifications.to_eventbridge(before))

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry_id)

    def _write(self, change: Change) -> bool:
        """Return whether there was anything to change."""
        wrote: list[str] = []

        def write() -> None:
            try:
                wrote.extend(self._writer.write(self.name, change))
            except ConcurrentWriteError as error:
                wrote.append(str(error))  # it may show later, when a retry finds no change
                raise

        self._retried(write)
        return bool(wrote)
