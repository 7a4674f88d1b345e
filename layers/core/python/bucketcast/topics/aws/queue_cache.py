"""The queues of dynamic targets and topics for ingest, cached while nothing changes."""

from bucketcast.delivery.queue_names import once_queue
from bucketcast.destination import Destination, TopicArn
from bucketcast.state.dynamic_targets import Table
from bucketcast.targets.base.options import queue_limit_of
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.model import Topic


class QueueCache:
    """Finds the queue of an ARN; one consistent read a batch, and one more where it changed.

    `prefix` is that of the names of all dynamic targets' queues.
    """

    def __init__(self, table: Table, topics: TopicTable, prefix: str) -> None:
        self._table = table
        self._topics = topics
        self._prefix = prefix
        self._version = -1
        self._queues: dict[Destination, str | None] = {}
        self._limits: dict[str, int] = {}
        self._refreshed = False

    def begin(self) -> None:
        """Begin a new batch: the cache may be out of date."""
        self._refreshed = False

    def queue(self, to: Destination) -> str | None:
        """Return the name of the queue of a target or topic; None if there is none.

        Events of a disabled one wait in its queue. A topic that was deleted, or is not pushed, has
        none.

        Raises:
            LookupError: a topic's queue is unknown now.
        """
        if not self._refreshed:
            # The number first: what is read after it is at least as new.
            version = self._table.version()
            if version != self._version:
                self._queues.clear()
                self._limits.clear()
                self._version = version
            self._refreshed = True
        if to not in self._queues:
            found = self._of_topic(to) if isinstance(to, TopicArn) else self._of_target(to.arn)
            self._queues[to] = found
        return self._queues[to]

    def limit(self, arn: str) -> int | None:
        """Return how many messages may wait for a target whose queue was asked for before."""
        return self._limits.get(arn)

    def _of_target(self, arn: str) -> str | None:
        found = self._table.target(arn)
        if found and (limit := queue_limit_of(found.settings)):
            self._limits[arn] = limit
        return found.queue if found and found.state != "kept" else None

    def _of_topic(self, arn: TopicArn) -> str | None:
        topic: Topic | None = self._topics.topic(arn)
        if topic is None or not topic.kind:
            return None
        if not topic.persistent:
            return once_queue(self._prefix, topic.kind)
        queue = self._of_target(topic.target_arn)
        if queue is None:
            raise LookupError(f"{arn} has no queue yet")
        return queue
