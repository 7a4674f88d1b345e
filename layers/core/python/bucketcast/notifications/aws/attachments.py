"""`bucketcast bucket attach`, `detach` and `ls`: buckets without a deploy."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications import eventbridge
from bucketcast.notifications.aws.cutover import BY_ATTACH, Cutover, Cutovers
from bucketcast.notifications.aws.ingress import EventRules, Ingress
from bucketcast.notifications.aws.writer import (
    Change,
    ConcurrentWriteError,
    EntryLostError,
    NotificationWriter,
)
from bucketcast.notifications.document import WHOLE, Document, Part

Via = Literal["sqs", "eventbridge"]


@dataclass(frozen=True, slots=True)
class AttachmentStatus:
    """A bucket's transport `via`, "" if it is not attached, and the entries of other owners.

    `part` are the events that its entry takes. `both` is True if both transports are in use.
    `leftover_rule` is True if a deploy owns the bucket, but the EventBridge rule of `bucket attach`
    still exists, so that events arrive twice.
    """

    bucket: str
    via: Via | Literal[""]
    by_deploy: bool
    others: tuple[str, ...]
    problem: str = ""
    cutover: Cutover | None = None
    both: bool = False
    leftover_rule: bool = False
    part: Part = WHOLE


@dataclass(frozen=True, slots=True)
class AttachResult:
    """The changes as texts; `both` is True if both transports are in use until the cutover."""

    changed: list[str]
    cutover: Cutover
    both: bool


class Attachments:
    """Attaches the buckets of the account to the ingress queue of one deployment.

    S3 applies a change only after minutes. So a new transport is added, and the old one stays until
    the bucket is attached again after that time. `clock` returns Unix seconds.
    """

    def __init__(
        self, deployment: Deployed, aws: Aws, clock: Callable[[], float] = time.time
    ) -> None:
        self._deployment = deployment
        self._aws = aws
        self._clock = clock
        self._cutovers = Cutovers(deployment.state_table, aws.dynamodb)
        self._entry = notifications.entry_id(deployment.stack)
        self.ingress = Ingress.of(deployment, aws)
        self._rules = EventRules(self.ingress, aws)
        self._writer = NotificationWriter(
            aws.s3, entry_id=self._entry, account=self.ingress.account
        )

    def forget(self, bucket: str) -> None:
        """Forget that a bucket, which is gone, was attached: its name may be taken again."""
        self._rules.remove(self._rule(bucket))
        with aws_errors():
            self._cutovers.remove(bucket)

    def read_status(self, bucket: str) -> AttachmentStatus:
        """Return the status of a bucket; `problem` is the error if it cannot be read."""
        by_deploy = bucket in self._deployment.buckets
        try:
            document = self._read(bucket)
            own = self._rules.has(self._rule(bucket))
            rule = own or self._deployment.buckets.get(bucket) == "eventbridge"
            with aws_errors():
                cutover = self._cutovers.of(bucket)
        except AwsError as error:
            return AttachmentStatus(bucket, "", by_deploy, (), str(error))
        others = tuple(notifications.other_entries(document, self._entry))
        part = WHOLE if by_deploy or not cutover else cutover.part
        transports = self._transports(document, part, rule=rule)
        if not transports:
            return AttachmentStatus(bucket, "", by_deploy, others, self._half(document, rule=rule))
        via = transports[-1] if cutover is None or cutover.via not in transports else cutover.via
        leftover_rule = by_deploy and own
        both = len(transports) > 1 or leftover_rule
        part = part if via == "sqs" else WHOLE
        return AttachmentStatus(
            bucket, cast("Via", via), by_deploy, others, "", cutover, both, leftover_rule, part
        )

    def attach(self, bucket: str, via: Via, part: Part = WHOLE) -> AttachResult:
        """Send a bucket's events to the ingress queue; remove the other transport if that is safe.

        A `part` needs the transport sqs. For a bucket of the deploy, only restore a removed entry.

        Raises:
            BucketcastError: a deploy owns the attached bucket, S3 refused, or the queue's policy
                does not allow it.
            Overlap: another owner's entry takes the events; the text names it.
            AwsError: AWS refused; the bucket's notifications are unchanged.
        """
        is_deployed = part.is_whole and self._deployment.buckets.get(bucket) == via
        if is_deployed and (restored := self._restore(bucket, via)):
            return AttachResult(restored, Cutover(via, self._effective(), BY_ATTACH), both=False)
        self._refuse_deployed(bucket)
        self._read(bucket)  # fails before anything is created
        changes = self._by_queue(bucket, part) if via == "sqs" else self._by_rule(bucket)
        cutover = self._remember(bucket, via, part, is_new=bool(changes))
        if cutover.effective_at <= self._clock():
            changes += self._drop_other(bucket, via)
        rule = self._rules.has(self._rule(bucket))
        both = len(self._transports(self._read(bucket), part, rule=rule)) > 1
        return AttachResult(changes, cutover, both)

    def _by_queue(self, bucket: str, part: Part) -> list[str]:
        self.ingress.require_allowed("s3.amazonaws.com", self.ingress.bucket(bucket))
        return self._write(bucket, partial(self._to_queue, part))

    def _restore(self, bucket: str, via: Via) -> list[str]:
        """Write the deploy's entry; return the changes, none if it exists."""
        if via == "sqs":
            return self._by_queue(bucket, WHOLE)
        return self._write(bucket, notifications.enable_eventbridge)

    def _by_rule(self, bucket: str) -> list[str]:
        changes = self._rules.create(
            self._rule(bucket), f"Events of bucket {bucket}", eventbridge.event_pattern(bucket)
        )
        try:
            return changes + self._write(bucket, notifications.enable_eventbridge)
        except BucketcastError:
            if changes:
                self._rules.remove(self._rule(bucket))
            raise

    def _to_queue(self, part: Part, before: Document) -> dict[str, Any]:
        if notifications.is_attached(before, self._entry, self.ingress.queue, part):
            return dict(before)
        return notifications.attach(before, self._entry, self.ingress.queue, part)

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry)

    def _remember(self, bucket: str, via: Via, part: Part, *, is_new: bool) -> Cutover:
        """Store the time when the transport is in effect, if it changed or is unknown."""
        with aws_errors():
            cutover = self._cutovers.of(bucket)
            if cutover and (cutover.via, cutover.part) == (via, part) and not is_new:
                return cutover
            new_cutover = Cutover(via, self._effective(), BY_ATTACH, part=part)
            self._cutovers.put(bucket, new_cutover)
        return new_cutover

    def _effective(self) -> float:
        """Return the time when a change made now is in effect."""
        return self._clock() + self._deployment.takes_effect

    def _drop_other(self, bucket: str, via: Via) -> list[str]:
        if via == "sqs":
            return self._rules.remove(self._rule(bucket))
        return self._write(bucket, self._without_entry)

    def _transports(self, document: Mapping[str, Any], part: Part, *, rule: bool) -> list[str]:
        transports = (
            ["eventbridge"] if rule and notifications.sends_to_eventbridge(document) else []
        )
        # Beside the rule, any entry of ours is a second transport.
        has_both = bool(transports) and notifications.has_entry(document, self._entry)
        if has_both or any(
            notifications.is_attached(document, self._entry, self.ingress.queue, each)
            for each in (part, part.without_latest)
        ):
            transports.append("sqs")
        return transports

    def detach(self, bucket: str) -> list[str]:
        """Stop a bucket's events; return the changes as texts.

        For a bucket that a deploy took over, remove only the rule of `attach`, which the deploy has
        kept for a rollback.

        Raises:
            BucketcastError: a deploy owns the bucket, or it is not attached.
            AwsError: AWS refused; the bucket's notifications are unchanged.
        """
        if bucket in self._deployment.buckets and self._rules.has(self._rule(bucket)):
            return self._drop_left(bucket)
        self._refuse_deployed(bucket)
        self._read(bucket)
        changes = self._write(bucket, self._without_entry)
        changes += self._rules.remove(self._rule(bucket))
        with aws_errors():
            self._cutovers.remove(bucket)
        if not changes:
            raise BucketcastError(
                f"{bucket} is not attached to {self._deployment.stack}; `bucketcast bucket ls` "
                "shows the buckets that are"
            )
        return changes

    def _drop_left(self, bucket: str) -> list[str]:
        with aws_errors():
            cutover = self._cutovers.of(bucket)
        if cutover and cutover.effective_at > self._clock():
            raise BucketcastError(
                f"the deploy changed the transport of {bucket}, and S3 applies that by "
                f"{cutover.when}: until then the rule of `bucketcast bucket attach` is needed"
            )
        return self._rules.remove(self._rule(bucket))

    def _refuse_deployed(self, bucket: str) -> None:
        if bucket in self._deployment.buckets:
            raise BucketcastError(
                f"{bucket} is attached by the deploy: change or remove [bucket.{bucket}] in "
                "bucketcast.toml, and deploy"
            )

    def _rule(self, bucket: str) -> str:
        return eventbridge.rule_name(self._deployment.stack, bucket)

    def _half(self, document: Mapping[str, Any], *, rule: bool) -> str:
        entries = document.get("QueueConfigurations", ())
        if any(entry.get("Id") == self._entry for entry in entries):
            return "our entry is changed: attach again"
        return (
            "our rule is there, but S3 sends no events to EventBridge: attach again" if rule else ""
        )

    def _read(self, bucket: str) -> dict[str, Any]:
        with aws_errors():
            return self._writer.read(bucket)

    def _write(self, bucket: str, change: Change) -> list[str]:
        try:
            with aws_errors():
                return self._writer.write(bucket, change)
        except (EntryLostError, ConcurrentWriteError) as error:
            raise BucketcastError(str(error)) from None
        except AwsError as error:
            hint = (
                f"; the bucket must be in {self.ingress.region}" if "validate" in str(error) else ""
            )
            text = f"{error}{hint}; {bucket} is as it was"
            if hint:
                raise BucketcastError(text) from None
            raise AwsError(
                text, silent=error.silent, denied=error.denied, code=error.code
            ) from None
