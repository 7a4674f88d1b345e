"""Create, change and delete topics, so that a killed call leaves nothing behind.

===========  =================================================================================
step         what happens
===========  =================================================================================
begin        a work is stored that names the target and the secret that will be created
make         the secret, and the dynamic target with its queues and its mapping
commit       the topic is stored, if it is still as it was read, else all begins again
settle       what the topic no longer names is removed, and the work is deleted
===========  =================================================================================

A work that is not ended within `LEASE_SECONDS` is settled by the next call: the topic's own item
names what should exist.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.deployment import DynamicSetup
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets, NoDynamicTargetError
from bucketcast.dynamic_targets.validation import validate
from bucketcast.errors import ConfigErrors
from bucketcast.topics.attributes import TopicAttributes
from bucketcast.topics.aws.table import TopicTable, TopicWork, until_done
from bucketcast.topics.endpoint import Pushed, target
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import KINDS, Topic

LEASE_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """The desired state of a topic."""

    owner: str
    attributes: TopicAttributes = field(repr=False)


Change = Callable[[Topic | None, Mapping[str, str]], Wanted]
"""Returns the desired state of a topic (None: new) with its hidden attributes; or raises."""


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
        """How many topics a user may have, 0 for any number."""
        return self._setup.topics_per_user

    def put(self, arn: TopicArn, change: Change) -> Topic:
        """Create or change a topic by `change`, which may be called again.

        Raises:
            TopicError: the change is invalid.
            BucketcastError: AWS refused, or another call conflicts.
        """

        def attempt() -> Topic | None:
            existing = self._items.topic(arn)
            stored_secrets = self.hidden(existing)
            wanted = change(existing, stored_secrets)
            topic = self._planned(arn, wanted, existing, stored_secrets)
            pushed = self._checked(topic, wanted.attributes.hidden)
            done = self._made(topic, pushed, wanted.attributes.hidden, existing)
            return topic if done else None

        self.sweep()
        return until_done(str(arn), attempt)

    def delete(self, arn: TopicArn, allow: Callable[[Topic], None]) -> bool:
        """Delete a topic with its waiting events, unless `allow` raises; return whether it existed.

        Raises:
            TopicError: another call changes it all the time.
        """

        def attempt() -> bool | None:
            existing = self._items.topic(arn)
            if existing is None:
                return False
            allow(existing)
            # Events from before a change of its kind are given up, too.
            targets = tuple(TargetArn(existing.id, kind).arn for kind in set(KINDS.values()))
            work = self._work(arn, targets, (existing.secret,))
            self._items.works.take(work, self._now())
            if not self._items.commit(work, existing, None):
                self._items.works.release(work)
                return None
            self._settle(work)
            return True

        self.sweep()
        return until_done(str(arn), attempt)

    def hidden(self, topic: Topic | None) -> Mapping[str, str]:
        """Return the attributes of a topic with its credentials."""
        return self._resources.read_secret(topic.secret) if topic else {}

    def sweep(self) -> list[str]:
        """Settle unfinished calls; return the names of their topics."""
        due = self._items.works.due(self._now())
        return [work.name for work in due if self._take_over(work)]

    def _planned(
        self,
        arn: TopicArn,
        wanted: Wanted,
        existing: Topic | None,
        stored_secrets: Mapping[str, str],
    ) -> Topic:
        given, secret = wanted.attributes, ""
        topic = Topic(
            tenant=arn.tenant,
            owner=wanted.owner,
            name=arn.name,
            region=arn.region,
            attributes=given.shown,
            hidden=tuple(sorted(given.hidden)),
            authority=given.authority,
            # A topic that is created again after its deletion is another one.
            number=existing.number + 1 if existing else self._now(),
        )
        if given.hidden:
            # Its name begins as those that the function of the kind may read.
            secret = f"{self._setup.secrets}{topic.kind}-{topic.id}/{uuid4().hex}"
            if existing and given.hidden == stored_secrets and existing.kind == topic.kind:
                secret = existing.secret
        return replace(topic, secret=secret)

    def _checked(self, topic: Topic, hidden: Mapping[str, str]) -> Pushed | None:
        """Return its target, validated like one of the configuration file."""
        pushed = target(topic, hidden)
        if pushed is None:
            return None
        try:
            validate(self._setup, pushed.kind, topic.id, pushed.settings)
        except ConfigErrors as errors:
            # They name the target's settings, and no secret.
            raise TopicError("InvalidArgument", "; ".join(map(str, errors.errors))) from None
        return pushed

    def _made(
        self, topic: Topic, pushed: Pushed | None, hidden: Mapping[str, str], existing: Topic | None
    ) -> bool:
        """Create what the topic names, store it, and remove what it no longer names."""
        before = (existing.target_arn, existing.secret) if existing else ("", "")
        work = self._work(topic, (before[0], topic.target_arn), (before[1], topic.secret))
        self._items.works.take(work, self._now())
        try:
            if topic.secret and topic.secret != before[1]:
                self._resources.make_secret(topic.secret, json.dumps(dict(hidden), sort_keys=True))
            if pushed and topic.target_arn:
                self._targets.put(pushed.kind, topic.id, pushed.settings)
            done = self._items.commit(work, existing, topic)
        except Exception:
            with suppress(Exception):  # the next call cleans up the rest
                self._settle(work)
            raise
        self._settle(work, made=topic.number if done else 0)
        return done

    def _take_over(self, work: TopicWork) -> bool:
        mine = replace(work, holder=uuid4().hex, due=self._now(LEASE_SECONDS))
        if not self._items.works.take(mine, self._now()):
            return False
        self._settle(mine)
        return True

    def _settle(self, work: TopicWork, made: int = 0) -> None:
        """Keep what the topic's item names, and remove everything else that the work names.

        What the item of the number `made` names exists already.
        """
        arn = TopicArn("", work.tenant, work.name)
        while True:
            topic = self._items.topic(arn)
            self._apply(topic, work, made)
            after = self._items.topic(arn)
            if (after and after.number) == (topic and topic.number):
                break
        self._items.works.release(work)

    def _apply(self, topic: Topic | None, work: TopicWork, made: int) -> None:
        wanted = topic.target_arn if topic else ""
        for unused in work.targets:
            if unused != wanted:
                # Waiting events are given up, as in Ceph, unless only the kind has changed.
                self._remove(unused, discard=not wanted)
        if topic and topic.number != made and wanted in work.targets:
            pushed = target(topic, self.hidden(topic))
            if pushed:
                self._targets.put(pushed.kind, topic.id, pushed.settings)
        for secret in work.secrets:
            if topic is None or secret != topic.secret:
                self._resources.remove_secret(secret)

    def _remove(self, arn: str, *, discard: bool) -> None:
        if self._items.target(arn) is None:
            return
        with suppress(NoDynamicTargetError):  # kept already, or removed meanwhile
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
