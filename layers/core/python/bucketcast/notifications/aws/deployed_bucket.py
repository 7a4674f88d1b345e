"""Change the notifications of a bucket to a deploy's configuration.

S3 applies a change only after minutes. So one deploy adds a transport, and a later one removes the
other, when S3 has applied the first change: meanwhile events arrive twice.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.ingress import Ingress
from bucketcast.notifications.aws.writer import (
    Change,
    ConcurrentWriteError,
    NotificationWriter,
    is_unreachable_destination,
)
from bucketcast.notifications.document import Document, Via, split
from bucketcast.notifications.not_sent import not_sent
from bucketcast.rules.sent_events import Part

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from bucketcast.rules import Rule

log = logging.getLogger(__name__)
CHECK: Final = "Check"
"""The type of the stack's own request, daily for each bucket, whose outcome only an alarm sees."""


class DeployedBucket:
    """One bucket of a deploy, by the properties of its custom resource.

    `policy` reads the queue's policy, `rules` the bucket's rules. `retry` repeats a call until a
    permission that was just granted is in effect, and returns its result. `is_rolled_back` returns
    True if the deploy has failed and is being undone.
    """

    def __init__(  # noqa: PLR0913 - the parts of CloudFormation's request
        self,
        s3: "S3Client",
        times: AttachmentTimes | None,
        properties: Mapping[str, Any],
        *,
        policy: Callable[[], str],
        rules: Callable[[], Sequence["Rule"]],
        retry: Callable[[Callable[[], object]], Any],
        is_rolled_back: Callable[[], bool],
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._times = times
        self._policy = policy
        self._rules = rules
        self._retry = retry
        self._is_rolled_back = is_rolled_back
        self._now = now
        self.name = properties["Bucket"]
        self._entry_id = properties["Id"]
        self._queue = properties["QueueArn"]
        self._key = properties.get("Key", "")
        self._takes_effect = float(properties.get("TakesEffect", 0))
        self._wanted = split(properties["Via"])
        self._part = Part.of(**properties.get("Part", {}))
        self._writer = NotificationWriter(
            s3, entry_id=self._entry_id, account=properties["Account"], sleep=sleep
        )

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
        """Send the events by `Via`, and no longer by `previous`, the old `Via`, "" for none.

        Raises:
            BucketcastError: S3 may not have applied the transport that stays, or rules ask for
                events that do not come then.
            Overlap: another entry takes our events.
            ClientError: AWS refused, after retries if waiting could help.
        """
        if (reason := self._not_sent()) and not self._is_rolled_back():
            raise BucketcastError(reason)
        ending = split(previous) - self._wanted
        refuses = bool(ending) and not self._is_rolled_back()
        if refuses and ending == split(previous):
            raise BucketcastError(
                f"{self.name}: S3 applies a change of via only after minutes. So that no event is "
                'lost, deploy with via = "both" first, and ten minutes later with the new one'
            )
        # The time comes first: if this ends after the write, S3's delay is known nevertheless.
        self._add_time(changed=not self._works(self._read(), split(previous)))
        self._add_time(changed=self._write(self._with_wanted))
        if refuses and (times := self._times):
            self._retry(lambda: times.require(self.name, self._now()))
        if "sqs" in ending:
            self._write(self._without_entry)

    def require(self) -> None:
        """Check that the events come by `Via`.

        Raises:
            BucketcastError: another tool has removed our entry, or switched EventBridge off, or
                rules ask for events that do not come.
            Overlap: another entry takes our events.
        """
        document = self._read()
        if not self._works(document, self._wanted):
            off = not notifications.sends_to_eventbridge(document)
            via = " --via eventbridge" if off and "eventbridge" in self._wanted else ""
            raise BucketcastError(
                f"another tool has changed the notifications of {self.name}, and its events do not "
                f"come any more: run `bucketcast bucket attach {self.name}{via}`, and for what "
                "happened meanwhile `bucketcast reconcile` or `bucketcast backfill`"
            )
        if reason := self._not_sent():
            raise BucketcastError(reason)

    def _not_sent(self) -> str:
        parts = notifications.sent(self._part, self._wanted)
        return not_sent(self._retry(self._rules), parts, {self.name: ""})

    def remove(self) -> None:
        """Remove our entry, but in a rollback not that of `bucketcast bucket attach`."""
        kept = self._attached()
        if kept and not self._is_rolled_back():
            kept = frozenset()
        try:
            if "sqs" in self._wanted - kept:
                self._write(self._without_entry)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise
        if not kept and (times := self._times):
            self._retry(lambda: times.remove(self.name))

    def _read(self) -> Document:
        document: Document = self._retry(lambda: self._writer.read(self.name))
        return document

    def _works(self, document: Document, previous: Collection[Via]) -> bool:
        """Return True if what is wanted is in use, for long if its rule is not of this deploy."""
        self._with_wanted(document)  # before anything is written: it may overlap
        ours = notifications.our_part(document, self._entry_id, self._queue)
        by_queue = ours and ours.covers(self._part)
        by_rule = "eventbridge" in previous and notifications.sends_to_eventbridge(document)
        return bool(by_queue or "sqs" not in self._wanted) and (
            by_rule or "eventbridge" not in self._wanted
        )

    def _add_time(self, *, changed: bool) -> None:
        if times := self._times:
            since = self._now() + self._takes_effect
            self._retry(lambda: times.add(self.name, since, changed=changed))

    def _with_wanted(self, before: Document) -> dict[str, Any]:
        wanted = self._wanted
        return notifications.connect(before, self._entry_id, self._queue, wanted, self._part)

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry_id)

    def _attached(self) -> frozenset[str]:
        """Return the transports that `bucketcast bucket attach` has added."""
        times = self._times
        found = self._retry(lambda: times.of(self.name)) if times else Attachment()
        return frozenset(found.attached)

    def _write(self, change: Change) -> bool:
        """Change the document; return False if nothing had to change."""
        changes: list[str] = []

        def write() -> None:
            try:
                changes.extend(self._writer.write(self.name, change))
            except ConcurrentWriteError as error:
                changes.append(str(error))  # it may show later, when a retry finds no change
                raise

        try:
            self._retry(write)
        except ClientError as error:
            others = notifications.other_entries(self._read(), self._entry_id)
            if self._key or not others or not is_unreachable_destination(error):
                raise
            # Without a key it is the policy that lets S3 write, and it is in effect by now.
            Ingress(self._queue, self._policy()).require_allowed("s3")
            log.warning("%s: S3 cannot write to one of %s", self.name, "; ".join(others))
            self._writer.validates = False
            self._retry(write)
        for text in changes:
            log.info("%s: %s", self.name, text)
        return bool(changes)
