"""Create, change and remove dynamic targets and topics; the next call cleans up after a killed one.

===========  =================================================================================
step         action
===========  =================================================================================
begin        store a task, which no other call on the target may overtake
plan         read the target, and decide what it is to be
create       let the task name the resources to be created and those that the target will no
             longer use, and create the former
commit       in one transaction: store the target, and increment the change number
clean        remove the resources that the stored target does not name, and delete the task
===========  =================================================================================

`tasks` has the tasks and their cleanup.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.config.target import is_mirror
from bucketcast.delivery.queue_names import TOKEN_LENGTH
from bucketcast.deployment import DynamicSetup
from bucketcast.destination import Destination, TargetArn, short_name
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.tasks import TargetTasks, busy
from bucketcast.dynamic_targets.validation import ValidatedTarget, require_available, validate
from bucketcast.errors import BucketcastError, did_you_mean
from bucketcast.limits import MOST_QUEUED_TOPICS, MOST_TARGETS
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Resource, Task, Topic
from bucketcast.targets import load

TIMEOUT_SECONDS = 20.0


class NoDynamicTargetError(BucketcastError):
    """The dynamic target does not exist."""


@dataclass(frozen=True, slots=True)
class Desired:
    """What a target is to be: without what its settings, its resources and its number say.

    A new topic's owner may have `most` topics, 0 for any number.
    """

    target: DynamicTarget
    valid: ValidatedTarget
    most: int = 0

    def complete(self, number: int, queue: str, secret: str) -> DynamicTarget:
        """Return the target with this number, queue and secret."""
        return replace(
            self.target,
            number=number,
            queue=queue,
            secret=secret,
            settings=self.valid.with_references(secret),
            state="on" if self.valid.enabled else "off",
        )


Plan = Callable[[DynamicTarget | None, Mapping[str, str]], Desired]
"""Returns the desired target, given the existing one and the fields of its secret; or raises."""


@dataclass(frozen=True, slots=True)
class Put:
    """The result of a `put`; `target` is its new state."""

    target: DynamicTarget
    outcome: str
    """`created`, `changed` or `unchanged`."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed target, and the messages in its queue and in its dead-letter queue."""

    target: DynamicTarget
    waiting: int
    dead: int
    discarded: bool


class DynamicTargets:
    """The dynamic targets of one stack; `deployed` are the ARNs of deployed ones."""

    def __init__(
        self,
        setup: DynamicSetup,
        table: Table,
        resources: Resources,
        *,
        deployed: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.time,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._setup = setup
        self._table = table
        self._resources = resources
        self._deployed = deployed
        self._clock = clock
        self._tasks = TargetTasks(table, resources, clock, timeout)

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: Mapping[str, str],
        *,
        merge: bool = False,
    ) -> Put:
        """Create a target, or replace its settings.

        With `merge` keep settings that are not in `values`, as MinIO's `config set` does; an empty
        value removes one. Events of a kept target are sent before new ones.

        Raises:
            ConfigErrors: the settings are invalid.
            BucketcastError: the configuration file has this target, or another call is at work on
                it.
        """
        require_available(self._setup, kind, id)
        arn = TargetArn(id=id, type=load(kind).arn_type)
        self.require_changeable(arn)

        def plan(existing: DynamicTarget | None, stored: Mapping[str, str]) -> Desired:
            kept = {**existing.settings, **stored} if existing and merge else {}
            valid = validate(self._setup, kind, id, {**kept, **values})
            mirror = is_mirror(kind, valid.shown)
            return Desired(DynamicTarget(arn=arn.arn, kind=kind, id=id, is_mirror=mirror), valid)

        return self.change(arn, plan)

    def change(self, to: Destination, plan: Plan) -> Put:
        """Create or change what is at an ARN; only one call at a time plans and does so.

        Raises:
            BucketcastError: another call is at work on it, or has just created the owner's last
                topic.
        """
        with self._planning(to) as (task, existing):
            stored = self._resources.read_secret(existing.secret) if existing else {}
            desired = plan(existing, stored)
            if existing is None and desired.target.has_queue:
                self._require_room(desired.target)
            if (
                existing
                and stored == desired.valid.hidden
                and existing == desired.complete(existing.number, existing.queue, existing.secret)
            ):
                if existing.queue:  # a deploy may have changed the receiver of alarms
                    self._resources.make_alarms(existing)
                self._tasks.end(task, existing)
                return Put(existing, "unchanged", desired.valid.notes)
        target = self._complete(to, desired, existing)
        self._store(to, task, target, desired, existing)
        is_new = existing is None or existing.state == "kept"
        return Put(target, "created" if is_new else "changed", desired.valid.notes)

    def remove(
        self,
        to: Destination,
        *,
        discard: bool = False,
        allow: Callable[[DynamicTarget], None] = lambda _: None,
    ) -> Removed:
        """Remove a target, unless `allow` raises.

        Keep its waiting events until it is created again, or discard them. The first call after a
        minute removes an empty queue.

        Raises:
            NoDynamicTargetError: the target does not exist.
            BucketcastError: the configuration file has this target, or another call is at work on
                it.
        """
        with self._planning(to) as (task, existing):
            if existing is None or (existing.state == "kept" and not discard):
                raise self._missing(to)
            allow(existing)
        number = existing.number + 1
        kept = replace(existing, state="kept", settings={}, secret="", number=number)
        after = None if discard else kept
        cleanup = self._tasks.replace(task, *_unused(existing, after))
        self._table.commit(task, existing, after, cleanup)
        waiting, dead = (
            self._resources.waiting(queue) if existing.queue else 0
            for queue in (existing.queue, existing.dead)
        )
        self._tasks.clean(cleanup)
        return Removed(existing, waiting, dead, discard)

    def sweep(self) -> list[str]:
        """Clean up after interrupted calls; return the keys of their targets."""
        return self._tasks.sweep()

    @contextmanager
    def _planning(self, to: Destination) -> Iterator[tuple[Task, DynamicTarget | None]]:
        """Begin a task on a target, and read it; end the task if an error is raised meanwhile."""
        self.sweep()
        task, existing = self._tasks.begin(to), None
        try:
            existing = self._table.get(to.key)
            yield task, existing
        except Exception:
            self._tasks.end(task, existing)
            raise

    def _require_room(self, target: DynamicTarget) -> None:
        """Require that the deployment may have one more target, or topic with a queue."""
        alike = [each for each in self._table.targets() if type(each) is type(target)]
        topics = isinstance(target, Topic)
        most, what = (
            (MOST_QUEUED_TOPICS, "persistent topics") if topics else (MOST_TARGETS, "targets")
        )
        if len(alike) >= most:
            raise BucketcastError(f"there are {len(alike):,} {what}; allowed are {most:,}")

    def _missing(self, to: Destination) -> BucketcastError:
        if to.plain in self._deployed:
            return BucketcastError(
                f"{to.short} is in bucketcast.toml: take it out there and deploy"
            )
        if not isinstance(to, TargetArn):  # users may ask for these: read no others' targets
            return NoDynamicTargetError(f"there is no {to}")
        known = [
            short_name(target.arn) for target in self._table.targets() if target.state != "kept"
        ]
        near = did_you_mean(to.short, known)
        return NoDynamicTargetError(
            f"no dynamic target {to.short}: {near}there is {', '.join(known) or 'none'}"
        )

    def require_changeable(self, arn: TargetArn) -> None:
        """Require that this call may create or change a target.

        Raises:
            BucketcastError: the configuration file has this target.
        """
        if arn.plain in self._deployed:
            raise BucketcastError(
                f"{arn.short} is in bucketcast.toml: change it there and deploy, or choose "
                "another id"
            )

    def _complete(
        self, to: Destination, desired: Desired, existing: DynamicTarget | None
    ) -> DynamicTarget:
        """Return the desired target with its queue and a new secret, which may not exist yet."""
        queue, secret, target = "", "", desired.target
        if target.has_queue:
            token = secrets.token_hex(TOKEN_LENGTH // 2)
            queue = existing.queue if existing else ""
            queue = queue or self._setup.queue_name(to.key, token)
        if desired.valid.hidden:
            secret = f"{self._setup.secrets}{target.kind}-{target.id}/{uuid4().hex}"
        # Connections are kept by this number: one that was removed must not have it again.
        number = existing.number + 1 if existing else round(self._clock() * 1_000)
        return desired.complete(number, queue, secret)

    def _store(
        self,
        to: Destination,
        task: Task,
        target: DynamicTarget,
        desired: Desired,
        existing: DynamicTarget | None,
    ) -> None:
        """Create missing resources, store the target, and remove resources it no longer uses."""
        created, unused = _unused(target, existing), _unused(existing, target)
        task = self._tasks.replace(task, *created, *unused)
        if not self._table.renew(task):
            raise busy(to)
        secret = desired.valid.secret_text
        try:
            for resource in reversed(target.resources):
                if resource in created or resource.kind == "alarms":  # which change with its state
                    self._resources.make(resource, target, secret)
            self._table.commit(task, existing, target, task if unused else None, desired.most)
        except Exception:
            with suppress(Exception):  # the next call cleans up the rest
                # As another holder, since what got no answer may still be on its way.
                self._tasks.take_over(task, task.holder)
            raise
        if unused:
            self._tasks.clean(task)


def _unused(before: DynamicTarget | None, after: DynamicTarget | None) -> list[Resource]:
    """Return the resources of `before` that `after` does not have."""
    found, remaining = (target.resources if target else () for target in (before, after))
    return [resource for resource in found if resource not in remaining]
