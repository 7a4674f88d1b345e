"""Kafka 0.11 or newer, and compatible products: each event is a message of a topic.

A message has MinIO's key, `bucket/key`, MinIO's body, and two headers: `content-type`, and
`event-id`, which is the same for every delivery of an event, so that consumers can drop duplicates.
With `shape = cloudevents-binary`, the attributes are headers `ce_…` in UTF-8. The partition is the
one that MinIO would choose: all events of an object go to one partition, in order, together with
those that MinIO wrote.

An event is delivered when all in-sync replicas have it (`acks=all`). With `ack = none`, as with
Ceph's `kafka-ack-level`, it is delivered when it was sent (`acks=0`). Except with `none`, the
producer is idempotent: its own retries write nothing twice. Messages that are not confirmed within
30 s are sent again from the queue, and may appear twice with the same `event-id`; those of a
partition that has no leader, after 3 s. After five idle minutes, and after any failure, the next
batch opens a new connection.

The topic must exist, or the brokers must create it (`auto.create.topics.enable`). The user needs
WRITE and DESCRIBE on the topic, IDEMPOTENT_WRITE on the cluster before Kafka 2.8, and CREATE if the
topic is to be created.

Events are sent in batches of up to 1 MB, and in smaller ones if the brokers refuse that
(`max.message.bytes`).

Logins are PLAIN, SCRAM and, with `auth = iam`, that of [Amazon MSK](../aws/msk.md) by the
function's role. Kerberos and other tokens are not supported.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from bucketcast.errors import DeliveryError, NotAuthorized
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets import base
from bucketcast.targets.base import options, tls
from bucketcast.targets.kafka.answers import ANSWERS
from bucketcast.targets.kafka.client import Client, Message, check
from bucketcast.targets.kafka.errors import ended
from bucketcast.targets.kafka.settings import KafkaSettings

BATCH_BYTES = (1_040_000, 125_000, 16_000, 1)
"""The size of a batch for the brokers: smaller if they refuse it, at last single events.

By default brokers take 1,048,588 since Kafka 2.4. A batch should hold all events of a `send`: until
it is sent, librdkafka keeps a processor busy with waiting to form the next one."""


class Target(base.Connected[Client]):
    """One topic; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "kafka"
    client: ClassVar[str] = "confluent_kafka"
    attributes_prefix: ClassVar[str | None] = "ce_"
    answers = ANSWERS
    Settings = KafkaSettings
    settings: KafkaSettings

    def __init__(self, settings: KafkaSettings) -> None:
        super().__init__(settings)
        self._batch_bytes = 0
        self._deadline = 0.0

    @property
    def where(self) -> str:
        return f"{','.join(self.settings.brokers)}, topic {self.settings.topic}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Write the batch; what the brokers refuse for one event is sent in smaller parts."""
        failures: dict[int, DeliveryError] = {}
        indexes, alone = list(range(len(events))), False
        with self._lock:
            self._deadline = time.monotonic() + self.timeout
            for batch_bytes in BATCH_BYTES:
                if indexes:
                    refused = self._write(events, indexes, batch_bytes)
                    failures = {
                        index: error for index, error in failures.items() if index not in indexes
                    } | refused
                    alone = len(indexes) == 1 or batch_bytes == 1
                    indexes = [index for index, error in refused.items() if error.alone]
                if alone:
                    break
        return failures

    def headers(self, event: Event) -> dict[str, str]:
        headers = {"event-id": event.id, "content-type": self.shape.content_type}
        return headers | super().headers(event) if self.shape.attributes else headers

    def endpoints(self) -> list[base.Endpoint]:
        settings = self.settings
        certificates = options.Tls(
            cert_authority=settings.cert_authority,
            client_cert=settings.client_tls_cert,
            client_key=settings.client_tls_key,
        )
        skip_verify = bool(settings.tls_skip_verify)
        context = tls.context(certificates, skip_verify=skip_verify) if settings.tls else None
        return [base.Endpoint.of(broker, 9092, context) for broker in settings.brokers]

    def login(self) -> None:
        check(self.settings, self.timeout, self.where, topic=False)

    def probe(self) -> None:
        check(self.settings, self.timeout, self.where, topic=True)

    def _write(
        self, events: Sequence[Event], indexes: Sequence[int], batch_bytes: int
    ) -> dict[int, DeliveryError]:
        """Write the events with these indexes; return the errors of those that failed."""
        self._batch_bytes = batch_bytes
        try:
            refused = self._produce(events, indexes)
        except DeliveryError as error:
            return dict.fromkeys(indexes, error)
        if refused:
            self._drop()  # with everything that librdkafka may still hold of them
        return refused

    def _produce(
        self, events: Sequence[Event], indexes: Sequence[int], *, anew: bool = False
    ) -> dict[int, DeliveryError]:
        """Send by the producer; if it cannot go on, by a new one, once.

        Raises:
            DeliveryError: none of the events is known to have arrived.
        """
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        messages = self._messages(events, indexes)
        try:
            with self._connection() as client:
                refused = client.send(messages, self._deadline)
        except (KafkaException, BufferError, RuntimeError) as error:
            reason = ended(error, self.settings, self.where)
            if anew or isinstance(reason, NotAuthorized):
                raise reason from None
            return self._produce(events, indexes, anew=True)
        if not refused:
            return {}
        values = {index: self.shape.message(events[index]) for index in indexes}
        unknown = refused.keys() - values.values()  # any of them may be the one that it is about
        all_ = dict.fromkeys(indexes, refused[unknown.pop()]) if unknown else {}
        return all_ | {n: refused[value] for n, value in values.items() if value in refused}

    def _messages(self, events: Sequence[Event], indexes: Iterable[int]) -> Iterator[Message]:
        headers, message = self.headers, self.shape.message
        for index in indexes:
            event = events[index]
            yield message(event), minio.path(event).encode(), headers(event)

    def _connect(self) -> Client:
        client = Client(self.settings, self.timeout, self._batch_bytes, self.where)
        try:
            client.connect(self._deadline)
        except BaseException:
            client.close()
            raise
        return client

    def _is_usable(self, connection: Client) -> bool:
        return connection.batch_bytes == self._batch_bytes and connection.is_usable()
