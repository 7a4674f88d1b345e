"""Dynamic targets and topics for ingest, cached until one of them changes."""

from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.queue_names import once_queue
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.ingest.routing import Wants
from bucketcast.rules.conditions import NOTHING, Fact
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import Topic
from bucketcast.targets.base.options import facts_in


class _Found(NamedTuple):
    """What ingest needs of a target; its settings and attributes may have 200 KB."""

    queue: str
    wants: Wants


class DestinationCache:
    """Finds the destination of an ARN with one consistent read per batch, more after changes.

    `prefix` begins the names of all dynamic targets' queues. `facts` are those that topics want.
    """

    def __init__(self, table: Table, prefix: str, facts: Fact = NOTHING) -> None:
        self._table = table
        self._prefix = prefix
        self._topic_wants = Wants(facts)
        self._version = -1
        self._found: dict[Destination, _Found | None] = {}
        self._refreshed = False
        self._failure: Exception | None = None

    def begin(self) -> None:
        """Begin a new batch: the cache may be out of date."""
        self._refreshed, self._failure = False, None

    def queue(self, to: Destination) -> str | None:
        """Return the name of the queue of a target or topic; None if there is none.

        A disabled target has a queue, in which its events wait. A deleted topic has none, nor has
        one that is not pushed.
        """
        found = self._find(to)
        return found.queue if found else None

    def wants(self, to: Destination) -> Wants:
        """Return what a target or topic wants; nothing if it does not exist or is not pushed."""
        found = self._find(to)
        return found.wants if found else Wants()

    def _find(self, to: Destination) -> _Found | None:
        """Return the target or topic that gets events for an ARN.

        A table that does not answer is asked once for a batch, not for each of its events.
        """
        if not isinstance(to, TargetArn | TopicArn):
            return None
        if self._failure:
            raise self._failure.with_traceback(None)
        try:
            if not self._refreshed:
                # Read the number first: items read after it are at least as new.
                version = self._table.version()
                if version != self._version:
                    self._found.clear()
                    self._version = version
                self._refreshed = True
            if to not in self._found:
                self._found[to] = self._read(to)
        except (BotoCoreError, ClientError) as error:
            self._failure = error
            raise
        return self._found[to]

    def _read(self, to: Destination) -> _Found | None:
        target = self._table.get(to.key)
        if not target or not target.kind or target.state == "kept":
            return None
        queue = target.queue or once_queue(self._prefix, target.kind)
        if isinstance(target, Topic):
            return _Found(queue, self._topic_wants)
        return _Found(queue, Wants(facts_in(target.settings), target.is_mirror))
