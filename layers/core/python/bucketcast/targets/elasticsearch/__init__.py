"""Elasticsearch 7 to 9, OpenSearch 1 to 3: an index that mirrors the bucket, or a log of events.

Tested with Elasticsearch 7.17 and OpenSearch 2.19; the requests are those that all these versions
support. A document is MinIO's `{"Records": [event]}`; with `format = access`, `shape` can change
it. The connect timeout is 5 s, the request timeout 15 s.

A missing `index` is created with the mapping that the server would infer, except that date
detection is off, `@timestamp` is an alias of `Records.eventTime` (of `time` for CloudEvents), and
`userMetadata` is one field (`flattened`, `flat_object`), however many names users choose.
An existing index, or one that an index template defines, is used as it is, also one that MinIO
filled.

* `namespace`: a document for each object in the bucket, whatever the order, batching or repetition
  of deliveries, and the number of writers. Its id is `bucket/key`, as in MinIO's guide, or its
  SHA-256 if it would exceed 512 bytes, the servers' limit. An index where MinIO hashed all ids, as
  its newer releases do, is refused: name another, which `bucketcast reconcile` fills. The index
  `<index>-guard` keeps removals, and events that do not change the object, such as tagging, for 104
  days after the last one. `index.gc_deletes` does not matter.
* `access`: a document for each event, with an id that the server assigns. A repeated delivery adds
  a second document.

Searches find a document after the index's `refresh_interval` (default 1 s). Do not delete an
`access` index in use: the server itself would create it again, with inferred mappings, until the
function restarts.

The user needs, on `<index>` and for `namespace` on `<index>-guard`: `create_index`,
`view_index_metadata`, `read` and `write` (OpenSearch's security plugin: `create_index`, `get`,
`search`, `crud` and `indices:admin/mappings/get`, and on the cluster `cluster_composite_ops`). An
index may be an alias of one index. With OpenSearch's segment replication, `namespace` needs 2.10 or
newer. `rest.action.multi.allow_explicit_index` must be on, which is the default. Data streams,
which need other documents, are not supported.

With `auth = iam`, the function's role signs requests for
[Amazon OpenSearch Service](../aws/opensearch.md).
"""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from threading import Lock
from typing import ClassVar

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.mirror.registers import moves
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.shapes.minio import encode
from bucketcast.targets import base
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.base.mirror import READ_TIMEOUT_FACTOR, SWEEP_SECONDS, Mirror
from bucketcast.targets.elasticsearch import index, mirror, state
from bucketcast.targets.elasticsearch.api import send_writes, to_one_line
from bucketcast.targets.elasticsearch.client import SEND_SECONDS, Client, Requests
from bucketcast.targets.elasticsearch.errors import Missing, of_document
from bucketcast.targets.elasticsearch.settings import ElasticsearchSettings, where


class Target(Mirror):
    """One index, and its guard, behind one address."""

    arn_type: ClassVar[str] = "elasticsearch"
    client: ClassVar[str] = "urllib3"
    Settings = ElasticsearchSettings
    timeout: ClassVar[float] = 15.0
    settings: ElasticsearchSettings

    def __init__(self, settings: ElasticsearchSettings) -> None:
        super().__init__(settings)
        self._client: Client | None = None
        self._names: index.Names | None = None
        self._lock = Lock()

    @property
    def where(self) -> str:
        return f"{where(self.settings.url)}, index {self.settings.index}"

    def _deliver(self, events: Sequence[Event]) -> base.Failures:
        mirrors = self.settings.format == "namespace"
        if not events or (mirrors and not any(map(moves, events))):
            return {}
        requests = self._requests()
        names = self._prepare_indexes(requests)
        try:
            if mirrors:
                failures = mirror.deliver(requests, names, events, _now())
            else:
                failures = self._append(requests, names.visible, events)
        except Missing:
            self._names = None
            raise
        if any(isinstance(error, Missing) for error in failures.values()):
            self._names = None
        return failures

    def _append(self, requests: Requests, name: str, events: Sequence[Event]) -> base.Failures:
        """Add a document for each event; those that were not confirmed fail."""
        result = BatchResult(len(events))
        action = b'{"index":{"_index":%b}}' % encode(name)  # the server assigns the id
        documents = map(to_one_line, map(self.shape.value, events))
        writes = [b"%b\n%b\n" % (action, document) for document in documents]
        try:
            for position, item in enumerate(send_writes(requests, writes)):
                error = of_document(item.status, item.error) if item.error else None
                result.settle(position, error)
        except DeliveryError as error:
            result.fail(result.unconfirmed, error)
        return result.failures

    def endpoints(self) -> list[base.Endpoint]:
        return [base.Endpoint.of_url(self.settings.url.reveal(), self.settings)]

    def login(self) -> None:
        # Not every user may read the cluster's name; a 403 still confirms the login.
        self._requests().send("GET", "/", accepted=(403,))

    def probe(self) -> None:
        names = self._find_indexes()
        index.check_writable(self._requests(), names, self.settings.format)

    def partitions(self, count: int) -> list[str]:
        return state.partitions(self._requests(), self._find_indexes(), count)

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        seconds = self.timeout * READ_TIMEOUT_FACTOR
        requests = partial(self._requests, seconds)
        return state.read_rows(requests, self._find_indexes(), partition, prefix, seconds)

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        return state.read_states(self._requests, self._find_indexes(), paths)

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            self._names = None
        if client is not None:
            client.close()

    def _find_indexes(self) -> index.Names:
        return index.find(self._requests(), self.settings.index, self.settings.format)

    def _requests(self, seconds: float = SEND_SECONDS) -> Requests:
        with self._lock:
            if self._client is None:
                self._client = Client(self.settings, self.timeout)
            return Requests(self._client, seconds)

    def _prepare_indexes(self, requests: Requests) -> index.Names:
        """Return the indexes; check or create them once."""
        settings = self.settings
        with self._lock:  # an index that another thread creates exists before it can be used
            names = self._names
            if names is None:
                time_field = index.CLOUDEVENTS if settings.shape == "cloudevents" else index.RECORDS
                names = self._names = index.prepare(
                    requests, settings.index, settings.format, time_field
                )
            return names

    def _sweep(self, limit: int) -> int:
        requests = self._requests(SWEEP_SECONDS)
        return index.sweep(requests, self._prepare_indexes(requests).guard, _now(), limit)


def _now() -> int:
    return round(time.time() * 1000)
