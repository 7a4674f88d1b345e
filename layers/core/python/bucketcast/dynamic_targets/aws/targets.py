"""Create, change and remove dynamic targets, so that a killed call leaves nothing behind.

===========  =================================================================================
step         what happens
===========  =================================================================================
begin        a task is stored that names all resources that will be created
make         secret, queues, mapping, alarms
commit       in one transaction: the target is stored, the change number grows, and
             the task names what the target no longer uses
clean        that is removed, and the task is deleted
===========  =================================================================================

A task that is not ended within `LEASE_SECONDS` is cleaned up by the next call.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.delivery.queue_names import TOKEN_LENGTH
from bucketcast.deployment import DynamicSetup
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources, UnsettledError
from bucketcast.dynamic_targets.validation import ValidatedTarget, require_available, validate
from bucketcast.errors import BucketcastError, did_you_mean
from bucketcast.state.dynamic_targets import DynamicTarget, Leftovers, State, Table, Task
from bucketcast.targets import load

LEASE_SECONDS = 180
GRACE_SECONDS = 60
"""After so long SQS's counts are exact, once nobody sends any more."""
LOOK_AGAIN_SECONDS = 3_600
TIMEOUT_SECONDS = 20.0
_PAUSE_SECONDS = 0.2


class NoDynamicTargetError(BucketcastError):
    """The dynamic target does not exist."""


@dataclass(frozen=True, slots=True)
class Put:
    """The result of a `put`; `target` is its new state."""

    target: DynamicTarget
    what: str
    """`made`, `changed` or `unchanged`."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removed target still had: messages in its queue and in its dead-letter queue."""

    target: DynamicTarget
    waiting: int
    dead: int
    discarded: bool


class DynamicTargets:
    """The dynamic targets of one stack; `deployed` are the ARNs of deployed ones.

    Unless `for_topics`, those of topics cannot be changed: ingest would keep the events of a
    persistent topic for as long as its target is missing.
    """

    def __init__(  # noqa: PLR0913 - what they are made with
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
        self._clock = clock
        self._timeout = timeout

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: Mapping[str, str],
        *,
        merge: bool = False,
    ) -> Put:
        """Create a target with these settings, or change it to them.

        With `merge` its other settings stay, as with MinIO's `config set`; an empty value removes
        one. Events reach its queue from now on, behind those that waited when it was removed.

        Raises:
            ConfigErrors: the settings are invalid.
            BucketcastError: the configuration file has this target, it is a topic's, or another
                call is at work on it.
        """
        require_available(self._setup, kind, id)
        if not merge:
            validate(self._setup, kind, id, values)
        named = TargetArn(id=id, type=load(kind).arn_type)
        self.require_changeable(named)
        self.sweep()
        task = self._begin(named.arn)
        existing = self._table.target(named.arn)
        stored = self._stored_values(existing)
        given = {**stored, **values} if merge and existing and existing.state != "kept" else values
        try:
            wanted = validate(self._setup, kind, id, given)
        except BucketcastError:
            self._table.tasks.release(task)
            raise
        state: State = "on" if wanted.enabled else "off"
        if existing and existing.state == state and stored == {**wanted.shown, **wanted.secrets}:
            # One that was made by a version without alarms gets them so, and after a deploy with
            # another topic the alarms get that one.
            try:
                self._alarms.make(existing)
            finally:
                self._table.tasks.release(task)
            return Put(existing, "unchanged", wanted.notes)
        target = self._planned(named.arn, kind, id, wanted, existing)
        self._make(task, target, wanted, existing)
        return Put(
            target, "changed" if existing and existing.state != "kept" else "made", wanted.notes
        )

    def remove(self, arn: TargetArn, *, discard: bool = False) -> Removed:
        """Remove a target; its waiting events are kept for its next creation, or discarded.

        An empty queue is removed by the first call after a minute.

        Raises:
            NoDynamicTargetError: there is none.
            BucketcastError: the configuration file has this target, it is a topic's, or another
                call is at work on it.
        """
        self._require_no_topic(arn)
        self.sweep()
        task = self._begin(arn.plain)
        existing = self._table.target(arn.plain)
        if existing is None or (existing.state == "kept" and not discard):
            self._leave(task, existing)
            raise self._missing(arn.plain)
        unused = [Leftovers("mapping", existing.queue), Leftovers("alarms", existing.queue)]
        if existing.secret:
            unused.append(Leftovers("secret", existing.secret))
        if discard:
            unused.append(Leftovers("queue", existing.queue))
        rest = self._renewed(task, *unused)
        kept = replace(existing, state="kept", settings={}, secret="", number=existing.number + 1)
        self._table.commit(task, None if discard else kept, rest)
        waiting, dead = (
            self._resources.waiting(existing.queue),
            self._resources.waiting(existing.dead),
        )
        self._clean(rest)
        return Removed(existing, waiting, dead, discard)

    def sweep(self) -> list[str]:
        """Clean up after unfinished calls; return the ARNs that were cleaned up."""
        due = self._table.tasks.due(self._now())
        return [task.arn for task in due if self._take_over(task)]

    def _missing(self, arn: str) -> BucketcastError:
        if arn in self._deployed:
            return BucketcastError(f"{arn} is in bucketcast.toml: take it out there and deploy")
        known = [target.arn for target in self._table.targets() if target.state != "kept"]
        near = did_you_mean(arn, known)
        return NoDynamicTargetError(
            f"no dynamic target {arn}: {near}there is {', '.join(known) or 'none'}"
        )

    def require_changeable(self, arn: TargetArn) -> None:
        """Check that a target may be created or changed here.

        Raises:
            BucketcastError: the configuration file has this target, or it is a topic's.
        """
        if arn.plain in self._deployed:
            raise BucketcastError(
                f"{arn} is in bucketcast.toml: change it there and deploy, or choose another id"
            )
        self._require_no_topic(arn)

    def _require_no_topic(self, arn: TargetArn) -> None:
        if arn.of_topic and not self._for_topics:
            raise BucketcastError(
                f"{arn} is the target of a topic: change or remove the topic (`bucketcast topic`)"
            )

    def _stored_values(self, target: DynamicTarget | None) -> dict[str, str]:
        if target is None:
            return {}
        return {**target.settings, **self._resources.read_secret(target.secret)}

    def _planned(
        self,
        arn: str,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        wanted: ValidatedTarget,
        existing: DynamicTarget | None,
    ) -> DynamicTarget:
        token = secrets.token_hex(TOKEN_LENGTH // 2)
        secret = f"{self._setup.secrets}{kind}-{id}/{uuid4().hex}" if wanted.secrets else ""
        return DynamicTarget(
            arn=arn,
            kind=kind,
            id=id,
            queue=existing.queue if existing else self._setup.queue_name(kind, id, token),
            settings=wanted.with_references(secret),
            number=existing.number + 1 if existing else 1,
            secret=secret,
            state="on" if wanted.enabled else "off",
        )

    def _make(
        self,
        task: Task,
        target: DynamicTarget,
        wanted: ValidatedTarget,
        existing: DynamicTarget | None,
    ) -> None:
        """Create what is missing, store the target, and remove what it no longer uses."""
        is_mapped = existing is not None and existing.state == "on"
        doomed = [Leftovers("mapping", target.queue)] if not is_mapped else []
        is_watched = existing is not None and existing.state != "kept"
        doomed += [Leftovers("alarms", target.queue)] if not is_watched else []
        doomed += [Leftovers("queue", target.queue)] if existing is None else []
        doomed += [Leftovers("secret", target.secret)] if target.secret else []
        made = self._renewed(task, *doomed)
        if not self._table.tasks.renew(made):
            raise BucketcastError(_busy(target.arn))
        try:
            if existing is None:
                self._resources.make_queues(target)
            if target.secret:
                self._resources.make_secret(target.secret, wanted.secret_text)
            if target.state == "on" and not is_mapped:
                self._resources.map(target)
            self._alarms.make(target)
        except Exception:
            with suppress(Exception):  # the next call cleans up the rest
                if self._table.tasks.renew(made):
                    self._clean(made)
            raise
        unused = [Leftovers("mapping", target.queue)] if target.state != "on" and is_mapped else []
        unused += [Leftovers("secret", existing.secret)] if existing and existing.secret else []
        rest = self._renewed(made, *unused) if unused else None
        self._table.commit(made, target, rest)
        if rest:
            self._clean(rest)

    def _begin(self, arn: str) -> Task:
        """Begin a task on this target, after waiting for the call that is at work on it."""
        deadline = time.monotonic() + self._timeout
        while True:
            found = self._table.tasks.get(arn)
            if found is None or found.if_empty:
                gone = found.holder if found else ""
                if self._table.tasks.take(mine := self._task(arn), self._now(), gone):
                    return mine
            elif found.due <= self._now():
                self._take_over(found)
            if time.monotonic() > deadline:
                raise BucketcastError(_busy(arn))
            time.sleep(_PAUSE_SECONDS)

    def _take_over(self, task: Task) -> bool:
        """Finish what another call left; return whether it is done."""
        if task.if_empty:
            return self._remove_if_empty(task)
        mine = self._task(task.arn, task.doomed)
        return self._table.tasks.take(mine, self._now()) and self._clean(mine)

    def _remove_if_empty(self, task: Task) -> bool:
        mine = self._task(task.arn)
        if not self._table.tasks.take(mine, self._now()):
            return False
        target = self._table.target(task.arn)
        if target is None or target.state != "kept":
            self._table.tasks.release(mine)
            return False
        if self._resources.waiting(target.queue) or self._resources.waiting(target.dead):
            self._leave(mine, target, LOOK_AGAIN_SECONDS)
            return False
        rest = self._renewed(mine, Leftovers("queue", target.queue))
        self._table.commit(mine, None, rest)
        return self._clean(rest)

    def _clean(self, task: Task) -> bool:
        """Remove what is doomed; return False if Lambda is still at work on a part of it."""
        try:
            for each in task.doomed:
                if each.what == "mapping":
                    self._resources.unmap(each.name)
                elif each.what == "alarms":
                    self._alarms.remove(each.name)
                elif each.what == "secret":
                    self._resources.remove_secret(each.name)
                else:
                    self._resources.remove_queues(each.name, _dead(each.name))
        except UnsettledError:
            self._table.tasks.renew(replace(task, due=self._now(GRACE_SECONDS)))
            return False
        self._leave(task, self._table.target(task.arn))
        return True

    def _leave(self, task: Task, target: DynamicTarget | None, pause: int = GRACE_SECONDS) -> None:
        """End a task; where the target is kept, its queue is looked at again after a pause."""
        if target is None or target.state != "kept":
            self._table.tasks.release(task)
            return
        later = replace(task, due=self._now(pause), doomed=(), if_empty=True)
        self._table.tasks.renew(later)

    def _task(self, arn: str, doomed: tuple[Leftovers, ...] = ()) -> Task:
        due = self._now(LEASE_SECONDS)
        return Task(arn=arn, holder=uuid4().hex, due=due, doomed=doomed)

    def _renewed(self, task: Task, *doomed: Leftovers) -> Task:
        return replace(task, due=self._now(LEASE_SECONDS), doomed=doomed)

    def _now(self, later: int = 0) -> int:
        return round((self._clock() + later) * 1000)


def _busy(arn: str) -> str:
    return (
        f"another call is at work on {arn}: try again; one that was cut short is cleaned up after "
        f"{LEASE_SECONDS // 60} minutes"
    )


def _dead(queue: str) -> str:
    return DynamicTarget(arn="", kind="", id="", queue=queue, settings={}, number=0).dead
