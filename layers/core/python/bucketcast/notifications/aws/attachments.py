"""`bucketcast bucket attach`, `detach` and `ls`: buckets without a deploy."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications import eventbridge
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.checks import NO_BUCKET, bucket_missing
from bucketcast.notifications.aws.ingress import EventRules, Ingress
from bucketcast.notifications.aws.writer import Change, NotificationWriter
from bucketcast.notifications.document import Document, Via, split
from bucketcast.rules.sent_events import WHOLE, Part


@dataclass(frozen=True, slots=True)
class AttachmentStatus:
    """How a bucket is attached: `via` sqs, eventbridge, both, or "" if it is not.

    `parts` are the events that arrive, or would by the configuration, and `others` the entries of
    other owners. S3 applies the last attach by `when`. `twice` is True if each event arrives twice:
    `via` both, or by a rule of the deploy and one of `bucket attach`.
    """

    bucket: str
    via: str
    by_deploy: bool
    others: tuple[str, ...]
    problem: str = ""
    parts: Sequence[Part] = (WHOLE,)
    twice: bool = False
    when: str = ""


class Attachments:
    """Attaches the buckets of the account to the ingress queue of one deployment.

    `clock` returns Unix seconds.
    """

    def __init__(
        self, deployment: Deployed, aws: Aws, clock: Callable[[], float] = time.time
    ) -> None:
        self._deployment = deployment
        self._aws = aws
        self._clock = clock
        self._times = AttachmentTimes(deployment.state_table, aws.dynamodb)
        self._entry = notifications.entry_id(deployment.stack)
        self.ingress = Ingress.of(deployment, aws)
        self._rules = EventRules(self.ingress, aws)
        self._writer = NotificationWriter(
            aws.s3, entry_id=self._entry, account=self.ingress.account
        )

    def forget(self, bucket: str) -> None:
        """Forget that a bucket, which is gone, was attached: its name may be taken again."""
        self._rules.remove(self._rule(bucket))
        self._times.remove(bucket)

    def read_status(self, bucket: str) -> AttachmentStatus:
        """Return the status of a bucket; `problem` is the error if it cannot be read."""
        deployed = self._deployed(bucket)
        try:
            with aws_errors():
                document = self._read(bucket)
                rule = self._rules.has(self._rule(bucket))
                when = self._times.of(bucket).when
        except AwsError as error:
            return AttachmentStatus(bucket, "", bool(deployed), (), str(error))
        others = tuple(notifications.other_entries(document, self._entry))
        in_use = self._in_use(bucket, document, rule=rule)
        by_rule = rule or "eventbridge" in deployed
        parts = notifications.sent(self._wanted(bucket), deployed or split("sqs"))
        status = AttachmentStatus(bucket, "", bool(deployed), others, parts=parts)
        if not in_use:
            return replace(status, problem=self._half(document, rule=by_rule))
        return replace(
            status,
            via="both" if len(in_use) > 1 else min(in_use),
            parts=notifications.arriving(document, self.ingress.queue, by_rule=by_rule),
            twice=len(in_use) > 1 or (rule and "eventbridge" in deployed),
            when=when,
        )

    def attach(self, bucket: str, via: Via, part: Part = WHOLE) -> list[str]:
        """Send a bucket's events to the ingress queue; return the changes as texts.

        Its other transport stays. A `part` needs the transport sqs. For a bucket of the deploy,
        only restore what was removed, with its own part.

        Raises:
            BucketcastError: the deploy attaches the bucket otherwise, S3 refused, or the queue's
                policy does not allow it.
            Overlap: another owner's entry takes the events; the text names it.
            AwsError: AWS refused; the bucket's notifications are unchanged.
        """
        deployed = self._deployed(bucket)
        if via not in deployed or part != WHOLE:
            self._refuse_deployed(bucket)
        document = self._read(bucket)  # fails before anything is created
        ours = notifications.our_part(document, self._entry, self.ingress.queue)
        wanted = self._wanted(bucket)
        if deployed:
            part = ours if ours and ours.covers(wanted) else wanted
        works = notifications.sends_to_eventbridge(document)
        by_rule = via == "eventbridge" and not deployed
        if by_rule:
            works = works and self._rules.has(self._rule(bucket))
        if via == "sqs":
            self.ingress.require_allowed("s3", validated=True)
            works = ours == part

        def change(before: Document) -> dict[str, Any]:
            return notifications.connect(before, self._entry, self.ingress.queue, {via}, part)

        change(document)  # it may overlap: then nothing is stored
        # The time comes first: if this ends after the write, S3's delay is known nevertheless.
        self._add_time(bucket, changed=not works)
        changes = self._by_rule(bucket) if by_rule else self._write(bucket, change)
        self._add_time(bucket, () if deployed else {via}, changed=bool(changes))
        return changes

    def _add_time(self, bucket: str, attached: Collection[str] = (), *, changed: bool) -> None:
        since = self._clock() + self._deployment.takes_effect
        self._times.add(bucket, since, attached, changed=changed)

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

    def detach(self, bucket: str, via: Via | None = None) -> list[str]:
        """Stop a bucket's events, or only one transport; return the changes as texts.

        For a bucket of the deploy, remove only what `attach` had added before.

        Raises:
            BucketcastError: there is nothing to remove, or S3 may not have applied the transport
                that stays, or the deploy's is gone.
            AwsError: AWS refused; the bucket's notifications are unchanged.
        """
        deployed, going = self._deployed(bucket), split(via or "both")
        document, rule = self._read(bucket), self._rules.has(self._rule(bucket))
        entry = "sqs" in going - deployed and notifications.has_entry(document, self._entry)
        if not entry and not (rule and "eventbridge" in going):
            self._refuse_deployed(bucket)
            raise BucketcastError(
                f"{bucket} is not attached to {self._deployment.stack} by {via or 'any transport'}"
                "; `bucketcast bucket ls` shows the buckets that are"
            )
        staying = self._in_use(bucket, document, rule=rule) - (going - deployed)
        if via and not staying and not deployed:
            raise BucketcastError(
                f"{bucket} has no other transport in use: to stop all of its events, run "
                f"`bucketcast bucket detach {bucket}`"
            )
        if deployed and not staying:
            raise BucketcastError(
                f"S3 does not send the events of {bucket} as it was deployed: restore that by "
                f"`bucketcast bucket attach {bucket} --via {max(deployed)}` first"
            )
        if staying:
            self._times.require(bucket, self._clock())
        changes = self._write(bucket, self._without_entry) if entry else []
        changes += self._rules.remove(self._rule(bucket)) if "eventbridge" in going else []
        if staying:
            since, attached = self._times.of(bucket)
            self._times.put(bucket, Attachment(since, attached - going))
        else:
            self._times.remove(bucket)
        return changes

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry)

    def _in_use(self, bucket: str, document: Document, *, rule: bool) -> frozenset[Via]:
        """Return the transports in use; `rule` is True if `attach` has added one."""
        deployed = self._deployed(bucket)
        part = notifications.our_part(document, self._entry, self.ingress.queue)
        by_queue = part and (part.covers(self._wanted(bucket)) or "sqs" not in deployed)
        by_rule = rule or "eventbridge" in deployed
        return split("sqs" if by_queue else "") | split(
            "eventbridge" if by_rule and notifications.sends_to_eventbridge(document) else ""
        )

    def _deployed(self, bucket: str) -> frozenset[Via]:
        """Return the transports of the deploy."""
        return split(self._deployment.buckets.get(bucket, ""))

    def _wanted(self, bucket: str) -> Part:
        """Return the part of a bucket of the deploy; of another bucket what is sent by default."""
        return self._deployment.parts.get(bucket, WHOLE)

    def _refuse_deployed(self, bucket: str) -> None:
        if bucket in self._deployment.buckets:
            raise BucketcastError(
                f"{bucket} is attached by the deploy: change or remove [bucket.{bucket}] in "
                "bucketcast.toml, and deploy"
            )

    def _rule(self, bucket: str) -> str:
        return eventbridge.rule_name(self._deployment.stack, bucket)

    def _half(self, document: Document, *, rule: bool) -> str:
        if notifications.has_entry(document, self._entry):
            return "our entry is changed: attach again"
        return (
            "our rule is there, but S3 sends no events to EventBridge: attach again" if rule else ""
        )

    def _read(self, bucket: str) -> dict[str, Any]:
        try:
            with aws_errors():
                return self._writer.read(bucket)
        except AwsError as error:
            if error.code == NO_BUCKET:
                raise AwsError(bucket_missing(bucket), code=NO_BUCKET) from None
            raise

    def _hint(self, bucket: str) -> str:
        """Return what may keep S3 from writing to a destination, which it does not name."""
        others = "; ".join(notifications.other_entries(self._read(bucket), self._entry))
        exist = f", and the destination of each other entry must exist: {others}" if others else ""
        return f"; the bucket must be in {self.ingress.region}{exist}"

    def _write(self, bucket: str, change: Change) -> list[str]:
        try:
            with aws_errors():
                return self._writer.write(bucket, change)
        except AwsError as error:
            hint = self._hint(bucket) if "validate" in str(error) else ""
            error.args = (f"{error}{hint}; {bucket} is as it was",)
            if hint:
                raise BucketcastError(*error.args) from None
            raise
