"""Buckets tied to the ingress queue from the command line, by the code that a deploy uses too.

Nothing of somebody else's in a bucket's notifications is changed: what is written is read again,
and put back as it was where an entry was lost.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from bucketcast import wiring
from bucketcast.errors import BucketcastError
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.deployed import Deployed
from bucketcast.store.ingress import EventRules, Ingress
from bucketcast.store.switches import BY_ATTACH, Switch, Switches

Via = Literal["sqs", "eventbridge"]


class NotAttachedError(BucketcastError):
    """The bucket cannot be attached or detached; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wired:
    """How a bucket's events come, "" being not at all, and what else its notifications hold.

    `left` is whether the rule of EventBridge that the command line had made still stands, though
    the bucket is the deploy's by now: what it tells comes once more.
    """

    bucket: str
    via: Via | Literal[""]
    by_deploy: bool
    others: tuple[str, ...]
    why: str = ""
    switch: Switch | None = None
    both: bool = False
    left: bool = False


@dataclass(frozen=True, slots=True)
class Attached:
    """What was changed, in words; whether both ways are in use, and from when one will do."""

    changed: list[str]
    switch: Switch
    both: bool


class Buckets:
    """The buckets of the account, as they are tied to one deployment's ingress queue.

    S3 heeds a change after minutes only. So where the way changes, the new one is added and the
    old one stays, until the bucket is attached once more after that time. `clock` gives seconds
    since 1970.
    """

    def __init__(self, there: Deployed, aws: Aws, clock: Callable[[], float] = time.time) -> None:
        self._there = there
        self._aws = aws
        self._clock = clock
        self._switches = Switches(there.rules_table, aws.dynamodb)
        self._entry = wiring.entry_id(there.stack)
        self.ingress = Ingress.of(there, aws)
        self._rules = EventRules(self.ingress, aws)

    def names(self) -> list[str]:
        """All buckets of the account.

        Raises:
            AwsError: AWS cannot be asked.
        """
        with explained():
            pages = self._aws.s3.get_paginator("list_buckets").paginate()
            return sorted(each["Name"] for page in pages for each in page.get("Buckets", ()))

    def look(self, bucket: str) -> Wired:
        """How a bucket is wired; what cannot be seen is said in `why`."""
        by_deploy = bucket in self._there.buckets
        try:
            document = self._read(bucket)
            own = self._rules.has(self._rule(bucket))
            rule = own or self._there.buckets.get(bucket) == "eventbridge"
            with explained():
                switch = self._switches.of(bucket)
        except AwsError as error:
            return Wired(bucket, "", by_deploy, (), str(error))
        others = tuple(wiring.others(document, self._entry))
        ways = self._ways(document, rule=rule)
        if not ways:
            return Wired(bucket, "", by_deploy, others, self._half(document, rule=rule))
        via = ways[-1] if switch is None or switch.via not in ways else switch.via
        left = by_deploy and own
        both = len(ways) > 1 or left
        return Wired(bucket, cast("Via", via), by_deploy, others, "", switch, both, left)

    def attach(self, bucket: str, via: Via) -> Attached:
        """Let a bucket's events come to the ingress queue; the other way goes when it may.

        Raises:
            NotAttachedError: it is the deploy's, or S3 refused.
            NotAdmittedError: nothing may write to the queue for it.
            Overlap: an entry of somebody else takes the events; it is named.
            AwsError: AWS refused; the bucket's notifications are as before.
        """
        self._refuse_deployed(bucket)
        before = self._read(bucket)
        done = self._by_queue(bucket, before) if via == "sqs" else self._by_rule(bucket, before)
        switch = self._remember(bucket, via, anew=bool(done))
        if switch.sure <= self._clock():
            done += self._drop_other(bucket, via)
        rule = self._rules.has(self._rule(bucket))
        both = len(self._ways(self._read(bucket), rule=rule)) > 1
        return Attached(done, switch, both)

    def _by_queue(self, bucket: str, before: Mapping[str, Any]) -> list[str]:
        self.ingress.admit("s3.amazonaws.com", self.ingress.bucket(bucket))
        held = wiring.is_attached(before, self._entry, self.ingress.queue)
        after = before if held else wiring.attach(before, self._entry, self.ingress.queue)
        return self._write(bucket, before, after)

    def _by_rule(self, bucket: str, before: Mapping[str, Any]) -> list[str]:
        done = self._rules.make(
            self._rule(bucket), f"Events of bucket {bucket}", wiring.pattern(bucket)
        )
        try:
            return done + self._write(bucket, before, wiring.to_eventbridge(before))
        except BucketcastError:
            if done:
                self._rules.drop(self._rule(bucket))
            raise

    def _remember(self, bucket: str, via: Via, *, anew: bool) -> Switch:
        """Since when the way is sure: from now on, where anything was changed or is not known."""
        with explained():
            known = self._switches.of(bucket)
            if known and known.via == via and not anew:
                return known
            made = Switch(via, self._clock() + self._there.takes_effect, BY_ATTACH)
            self._switches.put(bucket, made)
        return made

    def _drop_other(self, bucket: str, via: Via) -> list[str]:
        if via == "sqs":
            return self._rules.drop(self._rule(bucket))
        before = self._read(bucket)
        return self._write(bucket, before, wiring.detach(before, self._entry))

    def _ways(self, document: Mapping[str, Any], *, rule: bool) -> list[str]:
        ways = ["eventbridge"] if rule and wiring.tells_eventbridge(document) else []
        if wiring.is_attached(document, self._entry, self.ingress.queue):
            ways.append("sqs")
        return ways

    def detach(self, bucket: str) -> list[str]:
        """Let no more events of a bucket come; give what was changed, in words.

        Of one that a deploy took over only the rule goes that had been made here: the deploy left
        it, in case that it was rolled back.

        Raises:
            NotAttachedError: it is the deploy's, or it is not attached.
            AwsError: AWS refused; the bucket's notifications are as before.
        """
        if bucket in self._there.buckets and self._rules.has(self._rule(bucket)):
            return self._drop_left(bucket)
        self._refuse_deployed(bucket)
        before = self._read(bucket)
        done = self._write(bucket, before, wiring.detach(before, self._entry))
        done += self._rules.drop(self._rule(bucket))
        with explained():
            self._switches.remove(bucket)
        if not done:
            raise NotAttachedError(
                f"{bucket} is not attached to {self._there.stack}; `bucketcast status` shows "
                "the buckets that are"
            )
        return done

    def _drop_left(self, bucket: str) -> list[str]:
        with explained():
            known = self._switches.of(bucket)
        if known and known.sure > self._clock():
            raise NotAttachedError(
                f"the deploy changed how the events of {bucket} come, and S3 surely heeds that "
                f"from {known.when}: until then the rule of `bucketcast attach` is needed"
            )
        return self._rules.drop(self._rule(bucket))

    def _refuse_deployed(self, bucket: str) -> None:
        if bucket in self._there.buckets:
            raise NotAttachedError(
                f"{bucket} is attached by the deploy: change or remove [bucket.{bucket}] in "
                "bucketcast.toml, and deploy"
            )

    def _rule(self, bucket: str) -> str:
        return wiring.rule_name(self._there.stack, bucket)

    def _half(self, document: Mapping[str, Any], *, rule: bool) -> str:
        entries = document.get("QueueConfigurations", ())
        if any(entry.get("Id") == self._entry for entry in entries):
            return "our entry is changed: attach again"
        return "our rule is there, but S3 does not tell EventBridge: attach again" if rule else ""

    def _read(self, bucket: str) -> dict[str, Any]:
        with explained():
            found = self._aws.s3.get_bucket_notification_configuration(
                Bucket=bucket, ExpectedBucketOwner=self.ingress.account
            )
        return {key: value for key, value in found.items() if key != "ResponseMetadata"}

    def _write(self, bucket: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        """Put the document, and see that it holds what it held and what it should."""
        if after == before:
            return []
        try:
            self._put(bucket, after)
        except AwsError as error:
            # An answer that got lost may hide a change.
            if error.silent and self._read(bucket) != before:
                self._put(bucket, before)
            hint = (
                f"; the bucket must be in {self.ingress.region}" if "validate" in str(error) else ""
            )
            raise NotAttachedError(f"{error}{hint}; {bucket} is as it was") from None
        seen = self._read(bucket)
        if wiring.lost(before, seen, self._entry):
            self._put(bucket, before)
            raise NotAttachedError(
                f"S3 did not keep every entry of {bucket}'s notifications; they were put back as "
                "they were"
            )
        if wiring.lost(after, seen):
            raise NotAttachedError(
                f"somebody else wrote {bucket}'s notifications at the same time; try again"
            )
        return wiring.changes(before, after, self._entry)

    def _put(self, bucket: str, document: Mapping[str, Any]) -> None:
        wanted: Any = document
        with explained():
            self._aws.s3.put_bucket_notification_configuration(
                Bucket=bucket,
                ExpectedBucketOwner=self.ingress.account,
                NotificationConfiguration=wanted,
                # Somebody else's destination that is gone must not keep ours in.
                SkipDestinationValidation=not wiring.is_attached(
                    wanted, self._entry, self.ingress.queue
                ),
            )
