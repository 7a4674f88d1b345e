"""Create, change and delete topics; the next call cleans up after an interrupted one.

===========  =================================================================================
step         action
===========  =================================================================================
begin        store a work that names the target and the secret to be created
create       create the secret, and the dynamic target with its queues and its mapping
commit       store the topic if no other call has changed it, else begin again
settle       remove the resources that the topic no longer names, and delete the work
===========  =================================================================================

The next call settles a work that is older than `LEASE_SECONDS`. The topic's own item names the
resources that should exist.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.aws.clients import Aws
from bucketcast.deployment import DynamicSetup, read_outputs
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.dynamic_targets.aws.factory import resources_of, targets_of
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets, NoDynamicTargetError
from bucketcast.dynamic_targets.validation import validate
from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.topics.attributes import TLS, TopicAttributes
from bucketcast.topics.aws.table import TopicTable, TopicWork, retry_conflicts
from bucketcast.topics.endpoint import PushTarget, push_target
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import KINDS, Topic

LEASE_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class DesiredTopic:
    """The desired state of a topic; its owner may have `most`, 0 for any number."""

    owner: str
    attributes: TopicAttributes = field(repr=False)
    owner_id: str = ""
    most: int = 0


Change = Callable[[Topic | None, Mapping[str, str]], DesiredTopic]
"""Returns the desired state, given the topic (None: new) and its hidden attributes; or raises."""


class Topics:
    """The topics of one deployment."""

    def __init__(
        self,
        items: TopicTable,
        setup: DynamicSetup,
        targets: DynamicTargets,
        resources: Resources,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._items = items
        self._setup = setup
        self._targets = targets
        self._resources = resources
        self._clock = clock

    @property
    def per_user(self) -> int:
        """The most topics of a user, 0 for no limit."""
        return self._setup.topics_per_user

    def put(self, arn: TopicArn, change: Change) -> Topic:
        """Create or change a topic; call `change` again after a conflict with another call.

        Raises:
            TopicError: the change is invalid.
            BucketcastError: AWS refused, or other calls always conflict.
        """

        def attempt() -> Topic | None:
            existing = self._items.topic(arn)
            stored_secrets = self.read_login(existing)
            desired = change(existing, stored_secrets)
            topic = self._plan(arn, desired, existing, stored_secrets)
            target = self._resolve_target(topic, desired.attributes.hidden)
            stored = self._store(topic, target, desired, existing)
            return topic if stored else None

        self.sweep()
        return retry_conflicts(str(arn), attempt)

    def delete(self, arn: TopicArn, allow: Callable[[Topic], None]) -> bool:
        """Delete a topic with its waiting events, unless `allow` raises; False if there is none.

        Raises:
            TopicError: other calls always conflict.
        """

        def attempt() -> bool | None:
            existing = self._items.topic(arn)
            if existing is None:
                return False
            allow(existing)
            # Events from before a change of its kind are dropped, too.
            targets = tuple(TargetArn(existing.id, kind).arn for kind in set(KINDS.values()))
            work = self._work(arn, targets, (existing.secret,))
            self._items.works.take(work, self._now())
            if not self._items.commit(work, existing, None):
                self._items.works.release(work)
                return None
            self._settle(work)
            return True

        self.sweep()
        return retry_conflicts(str(arn), attempt)

    def read_login(self, topic: Topic | None) -> Mapping[str, str]:
        """Return the hidden attributes of a topic, which hold its credentials."""
        return self._resources.read_secret(topic.secret) if topic else {}

    def sweep(self) -> list[str]:
        """Settle unfinished calls; return the names of their topics."""
        return [work.name for work in self._items.works.sweep(self._now(), self._take_over)]

    def _plan(
        self,
        arn: TopicArn,
        desired: DesiredTopic,
        existing: Topic | None,
        stored_secrets: Mapping[str, str],
    ) -> Topic:
        attributes, secret = desired.attributes, ""
        topic = Topic(
            tenant=arn.tenant,
            owner=desired.owner,
            owner_id=desired.owner_id,
            name=arn.name,
            region=arn.region,
            attributes=attributes.shown,
            hidden=tuple(sorted(attributes.hidden)),
            # A topic created again after its deletion must have a new number.
            number=existing.number + 1 if existing else self._now(),
        )
        if attributes.hidden:
            # The function of the kind may read secrets with this prefix only.
            secret = f"{self._setup.secrets}{topic.kind}-{topic.id}/{uuid4().hex}"
            if existing and attributes.hidden == stored_secrets and existing.kind == topic.kind:
                secret = existing.secret
        return replace(topic, secret=secret)

    def _resolve_target(self, topic: Topic, hidden: Mapping[str, str]) -> PushTarget | None:
        """Return a topic's target, validated like one in the configuration file."""
        target = push_target(topic, hidden)
        if target is None:
            return None
        if _logs_in_without_tls(target) and not self._setup.topics_in_cleartext:
            raise invalid(
                TLS,
                "false beside a login, which would go to the broker in the clear",
                'true, or false if the deploy has allow_secrets_in_cleartext = "on" in [topics]',
            )
        try:
            validate(self._setup, target.kind, topic.id, target.settings)
        except ConfigErrors as errors:
            # They name the target's settings, and no secret.
            raise TopicError("InvalidArgument", "; ".join(map(str, errors.errors))) from None
        return target

    def _store(
        self,
        topic: Topic,
        target: PushTarget | None,
        desired: DesiredTopic,
        existing: Topic | None,
    ) -> bool:
        """Create a topic's resources, store it, and remove resources it no longer names."""
        hidden = desired.attributes.hidden
        before = (existing.target_arn, existing.secret) if existing else ("", "")
        work = self._work(topic, (before[0], topic.target_arn), (before[1], topic.secret))
        self._items.works.take(work, self._now())
        try:
            if topic.secret and topic.secret != before[1]:
                self._resources.make_secret(topic.secret, json.dumps(dict(hidden), sort_keys=True))
            if target and topic.target_arn:
                self._targets.put(target.kind, topic.id, target.settings, topic=topic.arn)
            stored = self._items.commit(work, existing, topic, desired.most)
        except Exception:
            with suppress(Exception):  # the next call cleans up the rest
                self._settle(work)
            raise
        self._settle(work, existing_number=topic.number if stored else 0)
        return stored

    def _take_over(self, work: TopicWork) -> bool:
        own = replace(work, holder=uuid4().hex, due=self._now(LEASE_SECONDS))
        if not self._items.works.take(own, self._now()):
            return False
        self._settle(own)
        return True

    def _settle(self, work: TopicWork, existing_number: int = 0) -> None:
        """Remove all resources that the work names and the topic's item does not.

        The resources of the item with the number `existing_number` exist already.
        """
        arn = TopicArn("", work.tenant, work.name)
        while True:
            topic = self._items.topic(arn)
            self._apply(topic, work, existing_number)
            after = self._items.topic(arn)
            if (after and after.number) == (topic and topic.number):
                break
        self._items.works.release(work)

    def _apply(self, topic: Topic | None, work: TopicWork, existing_number: int) -> None:
        required = topic.target_arn if topic else ""
        for unused in work.targets:
            if unused != required:
                # Waiting events are dropped, as in Ceph, unless only the kind has changed.
                self._remove(unused, discard=not required)
        if topic and topic.number != existing_number and required in work.targets:
            target = push_target(topic, self.read_login(topic))
            if target:
                self._targets.put(target.kind, topic.id, target.settings, topic=topic.arn)
        for secret in work.secrets:
            if topic is None or secret != topic.secret:
                self._resources.remove_secret(secret)

    def _remove(self, arn: str, *, discard: bool) -> None:
        if self._items.target(arn) is None:
            return
        with suppress(NoDynamicTargetError):  # state "kept" already, or removed meanwhile
            self._targets.remove(TargetArn.parse(arn), discard=discard)

    def _work(
        self, named: TopicArn | Topic, targets: tuple[str, ...], secrets: tuple[str, ...]
    ) -> TopicWork:
        return TopicWork(
            id=uuid4().hex,
            tenant=named.tenant,
            name=named.name,
            holder=uuid4().hex,
            due=self._now(LEASE_SECONDS),
            targets=tuple(dict.fromkeys(filter(None, targets))),
            secrets=tuple(dict.fromkeys(filter(None, secrets))),
        )

    def _now(self, later: int = 0) -> int:
        return round((self._clock() + later) * 1000)


def _logs_in_without_tls(target: PushTarget) -> bool:
    return target.settings.get("sasl") == "on" and target.settings["tls"] == "off"


def topics_of(stack: str, table: str, aws: Aws) -> Topics:
    """Return the topics of a deployment.

    Raises:
        BucketcastError: the stack does not exist, its version does not support dynamic targets, or
            AWS does not answer.
    """
    setup = read_outputs(stack, aws).dynamic
    if setup is None:
        raise BucketcastError(f"the stack {stack} is older than topics are: deploy it again")
    targets = targets_of(stack, table, setup, aws)
    return Topics(TopicTable(table, aws.dynamodb), setup, targets, resources_of(setup, aws))
