"""The queues of dynamic targets and topics for ingest, cached until a target or topic changes."""

from bucketcast.delivery.queue_names import once_queue
from bucketcast.destination import Destination, TopicArn
from bucketcast.state.dynamic_targets import Table
from bucketcast.targets.base.options import queue_limit_of
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.model import Topic


class QueueCache:
    """Finds the queue of an ARN with one consistent read per batch, and more after changes.

    `prefix` begins the names of all dynamic targets' queues.
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

        A disabled target has a queue, in which its events wait. A deleted topic has none, nor has
        one that is not pushed.

        Raises:
            LookupError: a topic has no queue yet.
        """
        if not self._refreshed:
            # Read the number first: items read after it are at least as new.
            version = self._table.version()
            if version != self._version:
                self._queues.clear()
                self._limits.clear()
                self._version = version
            self._refreshed = True
        if to not in self._queues:
            queue = (
                self._topic_queue(to) if isinstance(to, TopicArn) else self._target_queue(to.arn)
            )
            self._queues[to] = queue
        return self._queues[to]

    def limit(self, arn: str) -> int | None:
        """Return the queue limit of a target that `queue` has read; None if it has no limit."""
        return self._limits.get(arn)

    def _target_queue(self, arn: str) -> str | None:
        target = self._table.target(arn)
        if target and (limit := queue_limit_of(target.settings)):
            self._limits[arn] = limit
        return target.queue if target and target.state != "kept" else None

    def _topic_queue(self, arn: TopicArn) -> str | None:
        topic: Topic | None = self._topics.topic(arn)
        if topic is None or not topic.kind:
            return None
        if not topic.persistent:
            return once_queue(self._prefix, topic.kind)
        queue = self._target_queue(topic.target_arn)
        if queue is None:
            raise LookupError(f"{arn} has no queue yet")
        return queue
