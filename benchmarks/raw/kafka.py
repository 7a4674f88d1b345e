"""confluent-kafka: a batch is produced and flushed, confirmed by all replicas, written once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio


def rows(events: Sequence[Event]) -> Batch:
    return [
        (minio.log(event), minio.path(event).encode(), [("event-id", event.id)]) for event in events
    ]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    producer = Producer(
        {
            "bootstrap.servers": settings["brokers"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": settings["sasl_username"],
            "sasl.password": settings["sasl_password"],
            "acks": "all",
            "enable.idempotence": True,
            "delivery.report.only.error": True,
            "log_level": 0,  # as ours: a broker that has just started is not ready for it
        }
    )

    def raise_error(error: object, _: object) -> None:
        raise KafkaException(error)

    def write(batch: Batch) -> None:
        for value, key, headers in batch:
            producer.produce(
                settings["topic"], value, key, headers=headers, on_delivery=raise_error
            )
        if producer.flush(30):
            raise RuntimeError("the broker did not confirm the batch in time")

    yield write
