"""Create, change and remove dynamic targets; the next call cleans up after an interrupted one.

===========  =================================================================================
step         action
===========  =================================================================================
begin        store a task that names all resources to be created
create       create secret, queues, mapping and alarms
commit       in one transaction: store the target, increment the change number, and let the
             task name the resources that the target no longer uses
clean        remove those resources, and delete the task
===========  =================================================================================

`tasks` has the tasks and their cleanup.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.config.target import is_mirror
from bucketcast.delivery.queue_names import TOKEN_LENGTH
from bucketcast.deployment import DynamicSetup
from bucketcast.destination import TargetArn, short_name
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.tasks import TargetTasks, busy
from bucketcast.dynamic_targets.validation import ValidatedTarget, require_available, validate
from bucketcast.errors import BucketcastError, did_you_mean
from bucketcast.state.dynamic_targets import DynamicTarget, Resource, State, Table, Task
from bucketcast.targets import load

TIMEOUT_SECONDS = 20.0


class NoDynamicTargetError(BucketcastError):
    """The dynamic target does not exist."""


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
    """The dynamic targets of one stack; `deployed` are the ARNs of deployed ones.

    Unless `for_topics`, the targets of topics cannot be changed: ingest would keep the events of a
    persistent topic as long as its target is missing.
    """

    def __init__(  # noqa: PLR0913 - its dependencies
        self,
        setup: DynamicSetup,
        table: Table,
        resources: Resources,
        alarms: Alarms,
        *,
        deployed: frozenset[str] = frozenset(),
        for_topics: bool = True,
        clock: Callable[[], float] = time.time,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._setup = setup
        self._table = table
        self._resources = resources
        self._alarms = alarms
        self._deployed = deployed
        self._for_topics = for_topics
        self._tasks = TargetTasks(table, resources, alarms, clock, timeout)

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: Mapping[str, str],
        *,
        merge: bool = False,
        topic: str = "",
    ) -> Put:
        """Create a target, that of a topic if there is its ARN, or replace its settings.

        With `merge` keep settings that are not in `values`, as MinIO's `config set` does; an empty
        value removes one. Events of a kept target are sent before new ones.

        Raises:
            ConfigErrors: the settings are invalid.
            BucketcastError: the configuration file has this target, it is a topic's, or another
                call is at work on it.
        """
        require_available(self._setup, kind, id)
        if not merge:
            validate(self._setup, kind, id, values)
        arn = TargetArn(id=id, type=load(kind).arn_type)
        self.require_changeable(arn)
        self.sweep()
        task = self._tasks.begin(arn.arn)
        existing = self._table.target(arn.arn)
        stored = self._stored_values(existing)
        desired = (
            {**stored, **values} if merge and existing and existing.state != "kept" else values
        )
        try:
            valid = validate(self._setup, kind, id, desired)
        except BucketcastError:
            self._table.tasks.release(task)
            raise
        state: State = "on" if valid.enabled else "off"
        if existing and existing.state == state and stored == {**valid.shown, **valid.secrets}:
            # A deploy may have changed the alarms' topic, or an older version created no alarms.
            try:
                self._alarms.make(existing)
            finally:
                self._table.tasks.release(task)
            return Put(existing, "unchanged", valid.notes)
        target = replace(self._plan(arn.arn, kind, id, valid, existing), topic=topic)
        self._store(task, target, valid, existing)
        return Put(
            target, "changed" if existing and existing.state != "kept" else "created", valid.notes
        )

    def remove(self, arn: TargetArn, *, discard: bool = False) -> Removed:
        """Remove a target; keep its waiting events until it is created again, or discard them.

        The first call after a minute removes an empty queue.

        Raises:
            NoDynamicTargetError: the target does not exist.
            BucketcastError: the configuration file has this target, it is a topic's, or another
                call is at work on it.
        """
        self._require_no_topic(arn)
        self.sweep()
        task = self._tasks.begin(arn.plain)
        existing = self._table.target(arn.plain)
        if existing is None or (existing.state == "kept" and not discard):
            self._tasks.end(task, existing)
            raise self._missing(arn.plain)
        unused = [Resource("mapping", existing.queue), Resource("alarms", existing.queue)]
        if existing.secret:
            unused.append(Resource("secret", existing.secret))
        if discard:
            unused.append(Resource("queue", existing.queue))
        cleanup = self._tasks.replace(task, *unused)
        kept = replace(existing, state="kept", settings={}, secret="", number=existing.number + 1)
        self._table.commit(task, None if discard else kept, cleanup)
        waiting, dead = (
            self._resources.waiting(existing.queue),
            self._resources.waiting(existing.dead),
        )
        self._tasks.clean(cleanup)
        return Removed(existing, waiting, dead, discard)

    def sweep(self) -> list[str]:
        """Clean up after interrupted calls; return the ARNs of their targets."""
        return self._tasks.sweep()

    def _missing(self, arn: str) -> BucketcastError:
        name = short_name(arn)
        if arn in self._deployed:
            return BucketcastError(f"{name} is in bucketcast.toml: take it out there and deploy")
        known = [target.name for target in self._table.targets() if target.state != "kept"]
        near = did_you_mean(name, known)
        return NoDynamicTargetError(
            f"no dynamic target {name}: {near}there is {', '.join(known) or 'none'}"
        )

    def require_changeable(self, arn: TargetArn) -> None:
        """Require that this call may create or change a target.

        Raises:
            BucketcastError: the configuration file has this target, or it is a topic's.
        """
        if arn.plain in self._deployed:
            raise BucketcastError(
                f"{arn.short} is in bucketcast.toml: change it there and deploy, or choose "
                "another id"
            )
        self._require_no_topic(arn)

    def _require_no_topic(self, arn: TargetArn) -> None:
        if arn.of_topic and not self._for_topics:
            raise BucketcastError(
                f"{arn.short} is the target of a topic: change or remove the topic "
                "(`bucketcast topic`)"
            )

    def _stored_values(self, target: DynamicTarget | None) -> dict[str, str]:
        if target is None:
            return {}
        return {**target.settings, **self._resources.read_secret(target.secret)}

    def _plan(
        self,
        arn: str,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        valid: ValidatedTarget,
        existing: DynamicTarget | None,
    ) -> DynamicTarget:
        token = secrets.token_hex(TOKEN_LENGTH // 2)
        secret = f"{self._setup.secrets}{kind}-{id}/{uuid4().hex}" if valid.secrets else ""
        return DynamicTarget(
            arn=arn,
            kind=kind,
            id=id,
            queue=existing.queue if existing else self._setup.queue_name(kind, id, token),
            settings=valid.with_references(secret),
            number=existing.number + 1 if existing else 1,
            secret=secret,
            state="on" if valid.enabled else "off",
            is_mirror=is_mirror(kind, valid.shown),
        )

    def _store(
        self,
        task: Task,
        target: DynamicTarget,
        valid: ValidatedTarget,
        existing: DynamicTarget | None,
    ) -> None:
        """Create missing resources, store the target, and remove resources it no longer uses."""
        is_mapped = existing is not None and existing.state == "on"
        created = [Resource("mapping", target.queue)] if not is_mapped else []
        has_alarms = existing is not None and existing.state != "kept"
        created += [Resource("alarms", target.queue)] if not has_alarms else []
        created += [Resource("queue", target.queue)] if existing is None else []
        created += [Resource("secret", target.secret)] if target.secret else []
        task = self._tasks.replace(task, *created)
        if not self._table.tasks.renew(task):
            raise busy(target.arn)
        try:
            if existing is None:
                self._resources.make_queues(target)
            if target.secret:
                self._resources.make_secret(target.secret, valid.secret_text)
            if target.state == "on" and not is_mapped:
                self._resources.map(target)
            self._alarms.make(target)
        except Exception:
            with suppress(Exception):  # the next call cleans up the rest
                if self._table.tasks.renew(task):
                    self._tasks.clean(task)
            raise
        unused = [Resource("mapping", target.queue)] if target.state != "on" and is_mapped else []
        unused += [Resource("secret", existing.secret)] if existing and existing.secret else []
        cleanup = self._tasks.replace(task, *unused) if unused else None
        self._table.commit(task, target, cleanup)
        if cleanup:
            self._tasks.clean(cleanup)
