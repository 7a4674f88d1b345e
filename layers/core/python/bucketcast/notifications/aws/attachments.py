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
    """How a bucket is attached, "" if it is not, and others' entries.

    `part` are the events that its entry takes. `both` is whether both transports are in use. `left`
    is whether the EventBridge rule of `bucket attach` still exists though a deploy owns the bucket:
    its events arrive twice.
    """

    bucket: str
    via: Via | Literal[""]
    by_deploy: bool
    others: tuple[str, ...]
    why: str = ""
    switch: Cutover | None = None
    both: bool = False
    left: bool = False
    part: Part = WHOLE


@dataclass(frozen=True, slots=True)
class AttachResult:
    """The changes as texts, whether both transports are in use, and until when."""

    changed: list[str]
    switch: Cutover
    both: bool


class Attachments:
    """Attaches the buckets of the account to the ingress queue of one deployment.

    S3 applies a change after minutes only. So where the transport changes, the new one is added and
    the old one stays until the bucket is attached once more after that time. `clock` returns Unix
    seconds.
    """

    def __init__(
        self, deployment: Deployed, aws: Aws, clock: Callable[[], float] = time.time
    ) -> None:
        self._deployment = deployment
        self._aws = aws
        self._clock = clock
        self._switches = Cutovers(deployment.state_table, aws.dynamodb)
        self._entry = notifications.entry_id(deployment.stack)
        self.ingress = Ingress.of(deployment, aws)
        self._rules = EventRules(self.ingress, aws)
        self._writer = NotificationWriter(
            aws.s3, entry_id=self._entry, account=self.ingress.account
        )

    def names(self) -> list[str]:
        """Return all buckets of the account.

        Raises:
            AwsError: AWS cannot be reached.
        """
        with aws_errors():
            pages = self._aws.s3.get_paginator("list_buckets").paginate()
            return sorted(each["Name"] for page in pages for each in page.get("Buckets", ()))

    def look(self, bucket: str) -> AttachmentStatus:
        """Return how a bucket is attached; `why` is the reason when that cannot be read."""
        by_deploy = bucket in self._deployment.buckets
        try:
            document = self._read(bucket)
            own = self._rules.has(self._rule(bucket))
            rule = own or self._deployment.buckets.get(bucket) == "eventbridge"
            with aws_errors():
                switch = self._switches.of(bucket)
        except AwsError as error:
            return AttachmentStatus(bucket, "", by_deploy, (), str(error))
        others = tuple(notifications.others(document, self._entry))
        part = WHOLE if by_deploy or not switch else switch.part
        transports = self._transports(document, part, rule=rule)
        if not transports:
            return AttachmentStatus(bucket, "", by_deploy, others, self._half(document, rule=rule))
        via = transports[-1] if switch is None or switch.via not in transports else switch.via
        left = by_deploy and own
        both = len(transports) > 1 or left
        part = part if via == "sqs" else WHOLE
        return AttachmentStatus(
            bucket, cast("Via", via), by_deploy, others, "", switch, both, left, part
        )

    def attach(self, bucket: str, via: Via, part: Part = WHOLE) -> AttachResult:
        """Send a bucket's events to the ingress queue; remove the other when that is safe.

        A `part` of them goes by notification only. Of a bucket that a deploy owns, an entry that
        somebody removed is restored.

        Raises:
            BucketcastError: a deploy owns it and it is attached, or S3 refused.
            BucketcastError: the queue's policy does not allow it.
            Overlap: another's entry takes the events; it is named.
            AwsError: AWS refused; the bucket's notifications are as before.
        """
        owned = part.is_whole and self._deployment.buckets.get(bucket) == via
        if owned and (restored := self._restore(bucket, via)):
            return AttachResult(restored, Cutover(via, self._effective(), BY_ATTACH), both=False)
        self._refuse_deployed(bucket)
        self._read(bucket)  # before anything is created for a bucket that cannot be read
        done = self._by_queue(bucket, part) if via == "sqs" else self._by_rule(bucket)
        switch = self._remember(bucket, via, part, anew=bool(done))
        if switch.sure <= self._clock():
            done += self._drop_other(bucket, via)
        rule = self._rules.has(self._rule(bucket))
        both = len(self._transports(self._read(bucket), part, rule=rule)) > 1
        return AttachResult(done, switch, both)

    def _by_queue(self, bucket: str, part: Part) -> list[str]:
        self.ingress.admit("s3.amazonaws.com", self.ingress.bucket(bucket))
        return self._write(bucket, partial(self._to_queue, part))

    def _restore(self, bucket: str, via: Via) -> list[str]:
        """Write the entry as the deploy does; return the changes, none if it was there."""
        if via == "sqs":
            return self._by_queue(bucket, WHOLE)
        return self._write(bucket, notifications.to_eventbridge)

    def _by_rule(self, bucket: str) -> list[str]:
        done = self._rules.make(
            self._rule(bucket), f"Events of bucket {bucket}", eventbridge.pattern(bucket)
        )
        try:
            return done + self._write(bucket, notifications.to_eventbridge)
        except BucketcastError:
            if done:
                self._rules.drop(self._rule(bucket))
            raise

    def _to_queue(self, part: Part, before: Document) -> dict[str, Any]:
        if notifications.is_attached(before, self._entry, self.ingress.queue, part):
            return dict(before)
        return notifications.attach(before, self._entry, self.ingress.queue, part)

    def _without_entry(self, before: Document) -> dict[str, Any]:
        return notifications.detach(before, self._entry)

    def _remember(self, bucket: str, via: Via, part: Part, *, anew: bool) -> Cutover:
        """Store from when the transport is in effect: from now, if it changed or is unknown."""
        with aws_errors():
            switch = self._switches.of(bucket)
            if switch and (switch.via, switch.part) == (via, part) and not anew:
                return switch
            made = Cutover(via, self._effective(), BY_ATTACH, part=part)
            self._switches.put(bucket, made)
        return made

    def _effective(self) -> float:
        """Return from when a change made now is in effect."""
        return self._clock() + self._deployment.takes_effect

    def _drop_other(self, bucket: str, via: Via) -> list[str]:
        if via == "sqs":
            return self._rules.drop(self._rule(bucket))
        return self._write(bucket, self._without_entry)

    def _transports(self, document: Mapping[str, Any], part: Part, *, rule: bool) -> list[str]:
        transports = ["eventbridge"] if rule and notifications.tells_eventbridge(document) else []
        # Whatever it takes, beside the rule an entry of ours is a second transport.
        beside = bool(transports) and notifications.has_entry(document, self._entry)
        if beside or notifications.is_attached(document, self._entry, self.ingress.queue, part):
            transports.append("sqs")
        return transports

    def detach(self, bucket: str) -> list[str]:
        """Stop a bucket's events; return the changes as texts.

        Of a bucket that a deploy took over, only the rule made here is removed: the deploy keeps it
        for a rollback.

        Raises:
            BucketcastError: a deploy owns it, or it is not attached.
            AwsError: AWS refused; the bucket's notifications are as before.
        """
        if bucket in self._deployment.buckets and self._rules.has(self._rule(bucket)):
            return self._drop_left(bucket)
        self._refuse_deployed(bucket)
        self._read(bucket)
        done = self._write(bucket, self._without_entry)
        done += self._rules.drop(self._rule(bucket))
        with aws_errors():
            self._switches.remove(bucket)
        if not done:
            raise BucketcastError(
                f"{bucket} is not attached to {self._deployment.stack}; `bucketcast bucket ls` "
                "shows the buckets that are"
            )
        return done

    def _drop_left(self, bucket: str) -> list[str]:
        with aws_errors():
            switch = self._switches.of(bucket)
        if switch and switch.sure > self._clock():
            raise BucketcastError(
                f"the deploy changed how the events of {bucket} come, and S3 surely heeds that "
                f"from {switch.when}: until then the rule of `bucketcast bucket attach` is needed"
            )
        return self._rules.drop(self._rule(bucket))

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
            raise BucketcastError(f"{error}{hint}; {bucket} is as it was") from None
