"""The Kafka target against librdkafka's own mock of a cluster: leaders, and errors of a broker."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from bucketcast.errors import NotConnected, Retryable, TimedOut
from bucketcast.settings import options
from bucketcast.targets.kafka import Target, client
from tests.unit.samples import event

PRODUCER, PRODUCE = 0, 0
"""librdkafka's number of a producer, and Kafka's of a request that writes."""
TOPIC = b"events"
PARTITIONS = 2


class Cluster:
    """Two brokers, and a topic with a partition on each."""

    def __init__(self) -> None:
        package = Path(confluent_kafka.__file__).parent
        (library,) = (package.parent / "confluent_kafka.libs").glob("librdkafka-*")
        self._library = ctypes.CDLL(str(library))
        for name in ("conf_new", "new", "mock_cluster_new"):
            getattr(self._library, f"rd_kafka_{name}").restype = ctypes.c_void_p
        self._library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        configuration = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._library.rd_kafka_conf_set(configuration, b"log_level", b"0", None, ctypes.c_size_t(0))
        self._client = ctypes.c_void_p(
            self._library.rd_kafka_new(PRODUCER, configuration, None, ctypes.c_size_t(0))
        )
        self._cluster = ctypes.c_void_p(
            self._library.rd_kafka_mock_cluster_new(self._client, PARTITIONS)
        )
        self.brokers = str(self._library.rd_kafka_mock_cluster_bootstraps(self._cluster), "ascii")
        self._library.rd_kafka_mock_topic_create(self._cluster, TOPIC, PARTITIONS, 1)

    def lead(self, partition: int, broker: int) -> None:
        """Let a broker lead a partition; none if that is -1."""
        self._library.rd_kafka_mock_partition_set_leader(self._cluster, TOPIC, partition, broker)

    def answer(self, request: int, *codes: int) -> None:
        """Answer the next requests of this kind with these errors."""
        errors = (ctypes.c_int * len(codes))(*codes)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(request), ctypes.c_size_t(len(codes)), errors
        )

    def stop(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    started = Cluster()
    yield started
    started.stop()


@pytest.fixture
def target(cluster: Cluster) -> Iterator[Target]:
    settings = options.read(Target.Settings, {"brokers": cluster.brokers, "topic": "events"})
    with Target(settings) as opened:
        yield opened


BATCH = [event(f"k{number}") for number in range(100)]
ANSWERS = sorted(
    {code for name, code in vars(KafkaError).items() if name.isupper() and isinstance(code, int)}
)
"""All errors that librdkafka knows of a broker."""


def test_a_topic_without_any_leader_timed_out(
    cluster: Cluster, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "timeout", 1.0)
    monkeypatch.setattr(client, "STALLED_SECONDS", 0.2)
    for partition in range(PARTITIONS):
        cluster.lead(partition, -1)
    assert {type(error) for error in target.send(BATCH).values()} == {TimedOut}


def test_a_producer_that_cannot_go_on_is_made_anew_once(cluster: Cluster, target: Target) -> None:
    assert target.send(BATCH) == {}
    out_of_order = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    cluster.answer(PRODUCE, out_of_order)
    assert target.send(BATCH) == {}
    cluster.answer(PRODUCE, *[out_of_order] * 20)
    failures = target.send(BATCH)
    assert failures.keys() == set(range(100))
    assert {type(error) for error in failures.values()} == {NotConnected}
    assert "sequence desynchronization" in str(failures[0])


def test_each_answer_of_a_broker_is_translated(cluster: Cluster, target: Target) -> None:
    for code in ANSWERS:
        cluster.answer(PRODUCE, code)
        failures = target.send(BATCH)
        assert all(isinstance(error, Retryable) for error in failures.values())


@pytest.mark.parametrize("code", [KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD])
def test_a_refused_batch_is_sent_in_smaller_parts_until_its_reason_is_alone(
    cluster: Cluster, target: Target, code: int
) -> None:
    assert target.send(BATCH) == {}
    cluster.answer(PRODUCE, code, code)
    assert target.send(BATCH) == {}
    cluster.answer(PRODUCE, *[code] * 4)
    ((index, error),) = target.send([BATCH[0]]).items()
    assert (index, isinstance(error, Retryable), error.alone) == (0, True, True)


class BrokenProducer:
    """A producer that raises what librdkafka's may, and closes no better."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def list_topics(self, *_: object, **__: object) -> None: ...

    def produce(self, *_: object, **__: object) -> None:
        raise self.error

    def poll(self, _: float) -> None: ...

    def purge(self) -> None:
        raise KafkaException(KafkaError(KafkaError._STATE))


@pytest.mark.parametrize(
    "error",
    [BufferError("Local: Queue full"), KafkaException(KafkaError(KafkaError._FATAL, "it broke"))],
)
def test_what_a_producer_raises_is_translated(
    target: Target, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[BrokenProducer] = []

    def create(*_: object) -> BrokenProducer:
        made.append(BrokenProducer(error))
        return made[-1]

    monkeypatch.setattr(client, "create_client", create)
    failures = target.send(BATCH)
    assert failures.keys() == set(range(100))
    assert {type(found) for found in failures.values()} == {NotConnected}
    assert str(failures[0]).endswith(("Local: Queue full", "it broke"))
    assert len(made) == 2
