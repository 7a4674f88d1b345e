"""Dynamic targets and topics for ingest, cached until one of them changes."""

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.queue_names import once_queue
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.ingest.routing import Wants
from bucketcast.rules.conditions import NOTHING, Fact
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.targets.base.options import facts_in


class DestinationCache:
    """Finds the destination of an ARN with one consistent read per batch, more after changes.

    `prefix` begins the names of all dynamic targets' queues. `facts` are those that topics want.
    """

    def __init__(self, table: Table, prefix: str, facts: Fact = NOTHING) -> None:
        self._table = table
        self._prefix = prefix
        self._topic_wants = Wants(facts)
        self._version = -1
        self._found: dict[Destination, DynamicTarget | None] = {}
        self._wants: dict[Destination, Wants] = {}
        """What the dynamic targets in `_found` want: routing asks several times for each event."""
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
        return (found.queue or once_queue(self._prefix, found.kind)) if found else None

    def wants(self, to: Destination) -> Wants:
        """Return what a target or topic wants; nothing if it does not exist or is not pushed."""
        found = self._find(to)
        if isinstance(found, Topic):
            return self._topic_wants
        if found and to not in self._wants:
            self._wants[to] = Wants(facts_in(found.settings), found.is_mirror)
        return self._wants[to] if found else Wants()

    def _find(self, to: Destination) -> DynamicTarget | None:
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
                    self._wants.clear()
                    self._version = version
                self._refreshed = True
            if to not in self._found:
                self._found[to] = self._read(to)
        except (BotoCoreError, ClientError) as error:
            self._failure = error
            raise
        return self._found[to]

    def _read(self, to: Destination) -> DynamicTarget | None:
        target = self._table.get(to.key)
        return target if target and target.kind and target.state != "kept" else None
