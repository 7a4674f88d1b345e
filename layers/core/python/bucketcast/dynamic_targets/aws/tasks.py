"""The tasks of calls that change dynamic targets, and their cleanup after an interruption.

A task names resources that its call is about to create, or no longer needs. Whoever ends the task
removes those that the stored target does not name: the call itself, or the next one once the task
is older than `LEASE_SECONDS`.
"""

import time
from collections.abc import Callable
from uuid import uuid4

from msgspec.structs import replace

from bucketcast.destination import Destination
from bucketcast.dynamic_targets.aws.resources import Resources, UnsettledError
from bucketcast.errors import Busy
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Resource, Task

LEASE_SECONDS = 180
GRACE_SECONDS = 60
"""SQS's counts are exact this long after the last message was sent."""
RECHECK_SECONDS = 3_600
_PAUSE_SECONDS = 0.2


class TargetTasks:
    """The tasks of one stack; `timeout` is how long `begin` waits for another call."""

    def __init__(
        self,
        table: Table,
        resources: Resources,
        clock: Callable[[], float],
        timeout: float,
    ) -> None:
        self._table = table
        self._resources = resources
        self._clock = clock
        self._timeout = timeout

    def begin(self, to: Destination) -> Task:
        """Begin a task on a target or topic, after that of another call has ended.

        Raises:
            Busy: the other call takes too long.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            current = self._table.task(to.key)
            if current is None or current.if_empty:
                holder = current.holder if current else ""
                if self._table.take(task := self._new(to.key), self._now(), holder):
                    return task
            elif current.due <= self._now():
                self.take_over(current)
            if time.monotonic() > deadline:
                raise busy(to)
            time.sleep(_PAUSE_SECONDS)

    def replace(self, task: Task, *unused: Resource) -> Task:
        """Return the task with a new lease and these resources to remove; it is not stored yet."""
        return replace(task, due=self._now(LEASE_SECONDS), resources_to_remove=unused)

    def clean(self, task: Task) -> bool:
        """Remove a task's resources that its target does not use, and end it.

        Return False if Lambda is not ready to remove them all.
        """
        target = self._table.get(task.key)
        used = target.resources if target else ()
        try:
            for resource in task.resources_to_remove:
                if resource not in used:
                    self._resources.remove(resource)
        except UnsettledError:
            self._table.renew(replace(task, due=self._now(GRACE_SECONDS)))
            return False
        self.end(task, target)
        return True

    def end(self, task: Task, target: DynamicTarget | None, pause: int = GRACE_SECONDS) -> None:
        """End a task; for a kept target, leave one that checks its queue again after a pause."""
        if target is None or target.state != "kept":
            self._table.release(task)
            return
        later = replace(task, due=self._now(pause), resources_to_remove=(), if_empty=True)
        self._table.renew(later)

    def sweep(self) -> list[str]:
        """End the tasks of interrupted calls; return the keys of their targets."""
        return [task.key for task in self._table.sweep(self._now(), self.take_over)]

    def take_over(self, task: Task, former: str = "") -> bool:
        """End the task of an interrupted call; return False if that is not possible yet.

        `former` is its holder if that is known to have given up.
        """
        if task.if_empty:
            return self._remove_if_empty(task)
        own = self._new(task.key, task.resources_to_remove)
        return self._table.take(own, self._now(), former) and self.clean(own)

    def _remove_if_empty(self, task: Task) -> bool:
        own = self._new(task.key)
        if not self._table.take(own, self._now()):
            return False
        target = self._table.get(task.key)
        if target is None or target.state != "kept":
            self._table.release(own)
            return False
        if self._resources.waiting(target.queue) or self._resources.waiting(target.dead):
            self.end(own, target, RECHECK_SECONDS)
            return False
        cleanup = self.replace(own, *target.resources)
        self._table.commit(own, target, None, cleanup)
        return self.clean(cleanup)

    def _new(self, key: str, unused: tuple[Resource, ...] = ()) -> Task:
        due = self._now(LEASE_SECONDS)
        return Task(key=key, holder=uuid4().hex, due=due, resources_to_remove=unused)

    def _now(self, later: int = 0) -> int:
        return round((self._clock() + later) * 1000)


def busy(to: Destination) -> Busy:
    """Return the error of a call that must wait too long for another one."""
    return Busy(
        f"another call is at work on {to.short}: try again; one that was cut short is "
        f"cleaned up after {LEASE_SECONDS // 60} minutes"
    )
