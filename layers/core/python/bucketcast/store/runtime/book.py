"""The queues of run-time targets, as ingest asks for them: kept while nothing changes."""

from bucketcast.store.runtime.table import Table


class TargetBook:
    """Finds the queue of an ARN; one consistent read a batch, and one more where it changed."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._version = -1
        self._queues: dict[str, str | None] = {}
        self._asked = False

    def begin(self) -> None:
        """A new batch: what is known may be out of date."""
        self._asked = False

    def queue(self, arn: str) -> str | None:
        """The name of the queue of the target with this ARN; None where there is none, or no more.

        One that is switched off has its events wait: its queue is read by nobody meanwhile.
        """
        if not self._asked:
            # The number first: what is read after it is as new as it, or newer.
            version = self._table.version()
            if version != self._version:
                self._queues.clear()
                self._version = version
            self._asked = True
        if arn not in self._queues:
            found = self._table.target(arn)
            self._queues[arn] = found.queue if found and found.state != "kept" else None
        return self._queues[arn]
