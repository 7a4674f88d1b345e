"""The queues of run-time targets and of topics, as ingest asks: kept while nothing changes."""

from bucketcast.runtime.model import once_queue
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics.items import Items
from bucketcast.topics.model import Topic, TopicArn, is_topic


class UnsettledTopicError(LookupError):
    """A topic is persistent, and the target that it becomes is not there; it is being changed."""


class TargetBook:
    """Finds the queue of an ARN; one consistent read a batch, and one more where it changed.

    `prefix` begins the names of all queues of run-time targets.
    """

    def __init__(self, table: Table, topics: Items, prefix: str) -> None:
        self._table = table
        self._topics = topics
        self._prefix = prefix
        self._version = -1
        self._queues: dict[str, str | None] = {}
        self._asked = False

    def begin(self) -> None:
        """A new batch: what is known may be out of date."""
        self._asked = False

    def queue(self, arn: str) -> str | None:
        """The name of the queue of the target or topic with this ARN; None where there is none.

        One that is switched off has its events wait: its queue is read by nobody meanwhile. Of a
        topic that was deleted, or is pushed nowhere, there is none.

        Raises:
            UnsettledTopicError: a topic's queue is not known now.
        """
        if not self._asked:
            # The number first: what is read after it is as new as it, or newer.
            version = self._table.version()
            if version != self._version:
                self._queues.clear()
                self._version = version
            self._asked = True
        if arn not in self._queues:
            self._queues[arn] = self._of_topic(arn) if is_topic(arn) else self._of_target(arn)
        return self._queues[arn]

    def _of_target(self, arn: str) -> str | None:
        found = self._table.target(arn)
        return found.queue if found and found.state != "kept" else None

    def _of_topic(self, arn: str) -> str | None:
        topic: Topic | None = self._topics.topic(TopicArn.parse(arn))
        if topic is None or not topic.kind:
            return None
        if not topic.persistent:
            return once_queue(self._prefix, topic.kind)
        queue = self._of_target(topic.target_arn)
        if queue is None:
            raise UnsettledTopicError(f"{arn} has no queue yet")
        return queue
