"""Kafka alone: partitions, logins, batches, rights and its own errors."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Retryable,
)
from bucketcast.event import Event
from bucketcast.settings.egress import VARIABLE
from bucketcast.shapes import minio
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.kafka import Target
from tests.contract.case import HANGS_AFTER, UNUSUAL_KEYS, bounded, event, events
from tests.contract.diagnoses import fault, findings
from tests.contract.target_factory import making, running
from tests.servers.kafka import USER, KafkaServer, start_with_topic_creation
from tests.servers.tls import Tls

Make = Callable[..., Target]


kafka = running("kafka")
make = making(Target, "kafka")


def refusal(target: Target, batch: Sequence[Event] = ()) -> DeliveryError:
    """Send a batch of which every event fails with the same text; return the first error."""
    batch = batch or events(2)
    failures = bounded(lambda: target.send(batch))
    assert failures.keys() == set(range(len(batch)))
    assert len({str(error) for error in failures.values()}) == 1
    return failures[0]


def probe_error(target: Target) -> DeliveryError:
    with pytest.raises(DeliveryError) as error:
        bounded(target.probe)
    return error.value


def test_a_broker_that_the_stack_forbids_is_not_connected_to(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    assert "127.0.0.1 is a loopback address" in str(refusal(make()))
    assert "127.0.0.1 is a loopback address" in str(probe_error(make()))


def test_message_is_minios_with_a_stable_id(kafka: KafkaServer, make: Make) -> None:
    photo = event("photos/a b.jpg", 1, version_id="v1")
    assert make().send([photo]) == {}
    (arrival,) = kafka.received()
    assert (arrival.key, arrival.body) == ("uploads/photos/a b.jpg", minio.log(photo))
    assert arrival.headers == {"event-id": photo.id, "content-type": "application/json"}


def test_events_go_to_the_partitions_that_minio_chooses(kafka: KafkaServer, make: Make) -> None:
    kafka.create_topic("wide", partitions=7)
    batch = [*events(200), *(event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1))]
    assert make(topic="wide").send(batch) == {}
    partitions = {message.key: message.partition for message in kafka.messages("wide")}
    assert partitions == {path: minios_partition(path, 7) for path in map(path_of, batch)}
    assert set(partitions.values()) == set(range(7))


def path_of(put: Event) -> bytes:
    return minio.path(put).encode()


def minios_partition(key: bytes, partitions: int) -> int:
    """Return the absolute remainder of the key's 32-bit FNV-1a as a signed number."""
    digest = 0x811C9DC5
    for byte in key:
        digest = (digest ^ byte) * 0x01000193 % 2**32
    signed = digest - 2**32 if digest >= 2**31 else digest
    return abs(signed) % partitions


@pytest.fixture
def scram(kafka: KafkaServer) -> Iterator[dict[str, str]]:
    """Create two users with one mechanism each; yield the password of both."""
    secret = "scr4m"
    with kafka.scram_users(secret):
        yield {"sasl_password": secret}


@pytest.mark.parametrize(
    ("user", "mechanism", "encrypted"),
    [
        ("bob", "sha256", False),
        ("bob", "SCRAM-SHA-256", True),
        ("dora", "SHA512", False),
        ("dora", "scram-sha-512", True),
    ],
)
def test_scram_mechanism_has_a_short_and_a_full_name(
    kafka: KafkaServer,
    make: Make,
    scram: dict[str, str],
    user: str,
    mechanism: str,
    *,
    encrypted: bool,
) -> None:
    login = {**scram, "sasl_username": user, "sasl_mechanism": mechanism}
    target = make((kafka.tls_settings if encrypted else kafka.settings)(**login))
    target.probe()
    assert target.send(events(3)) == {}
    assert len(kafka.received()) == 3


@pytest.mark.parametrize("mechanism", ["plain", "sha256"])
def test_wrong_mechanism_is_refused(make: Make, scram: dict[str, str], mechanism: str) -> None:
    error = refusal(make(**scram, sasl_username="dora", sasl_mechanism=mechanism))
    assert isinstance(error, NotAuthorized)
    assert "see sasl_username, sasl_password and sasl_mechanism" in str(error)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd", "ZSTD"])
def test_batches_are_compressed_by_the_codec(kafka: KafkaServer, make: Make, codec: str) -> None:
    assert make(compression_codec=codec).send(events(100)) == {}
    assert {batch.codec for batch in kafka.batches("events")} == {codec.lower()}
    assert [arrival.body for arrival in kafka.received()] == [*map(minio.log, events(100))]


def test_batch_is_written_once_in_few_parts(kafka: KafkaServer, make: Make) -> None:
    target = make()
    for _ in range(2):
        assert target.send(events(1000)) == {}
    written = kafka.batches("events")
    assert sum(batch.messages for batch in written) == 2000
    assert len(written) <= 4
    # A broker drops what the same producer repeats. Only an idempotent producer has an id.
    (producer,) = {batch.producer for batch in written}
    assert producer >= 0


def test_ack_none_counts_sent_events_as_delivered(
    kafka: KafkaServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "timeout", 5.0)
    target = make(ack="none")
    assert target.send(events(1)) == {}
    kafka.pause()
    try:
        assert target.send(events(2)) == {}
    finally:
        kafka.resume()
    assert len(kafka.received()) == 3


def test_events_wait_until_a_missing_topic_is_created(kafka: KafkaServer, make: Make) -> None:
    target = make(topic="later")
    for error in (refusal(target), probe_error(target)):
        assert type(error) is Retryable
        assert "create topic later, unless the brokers do it themselves" in str(error)
    finding = fault(target)
    assert "Unknown topic" in finding.found
    assert "create topic later, unless the brokers do it themselves" in finding.hint
    assert "later" not in AdminClient(kafka.client).list_topics(timeout=10).topics
    kafka.create_topic("later")
    target.probe()
    assert target.send(events(2)) == {}
    assert len(kafka.received("later")) == 2


@pytest.fixture(scope="module")
def creating(servers_folder: Path, tls: Tls) -> Iterator[KafkaServer]:
    """The broker that creates topics, and has two disks."""
    server = start_with_topic_creation(servers_folder / "kafka-creating-topics", tls)
    yield server
    server.stop()


def test_brokers_may_create_the_topic(creating: KafkaServer, make: Make) -> None:
    target = make(creating.settings(topic="created"))
    probe_error(target)
    assert "created" not in AdminClient(creating.client).list_topics(timeout=10).topics
    assert target.send(events(3)) == {}
    assert len(creating.received("created")) == 3
    target.probe()


def allow(kafka: KafkaServer, user: str, topic: str, *operations: AclOperation) -> None:
    """Allow only this user these operations on a topic."""
    rights = [
        AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    kafka.allow(rights)


@pytest.mark.parametrize(
    ("user", "right"), [("bob", AclOperation.WRITE), (USER, AclOperation.DESCRIBE)]
)
def test_topic_without_rights_is_not_authorized(
    kafka: KafkaServer, make: Make, user: str, right: AclOperation
) -> None:
    allow(kafka, user, "events", right)
    target = make()
    for error in (refusal(target), probe_error(target)):
        assert isinstance(error, NotAuthorized)
        assert "the user needs WRITE and DESCRIBE on the topic" in str(error)
    assert kafka.received() == []


def test_a_user_who_gets_no_producer_id_is_not_authorized(kafka: KafkaServer, make: Make) -> None:
    """That ends the producer for good."""
    denied, whole = AclPermissionType.DENY, ResourcePatternType.LITERAL
    rights = [
        (ResourceType.BROKER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE, denied),
        (ResourceType.TOPIC, "*", AclOperation.WRITE, denied),
        (ResourceType.TOPIC, "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    ]
    kafka.allow(
        [
            AclBinding(on, name, whole, f"User:{USER}", "*", operation, permission)
            for on, name, operation, permission in rights
        ]
    )
    target = make()
    for _ in range(5):  # some producers have ended before they get messages
        error = refusal(target)
        assert isinstance(error, NotAuthorized)
        assert "IDEMPOTENT_WRITE on the cluster" in str(error)
    assert kafka.received() == []


def test_documented_rights_are_enough(kafka: KafkaServer, make: Make) -> None:
    allow(kafka, USER, "events", AclOperation.WRITE, AclOperation.DESCRIBE)
    target = make()
    target.probe()
    assert target.send(events(2)) == {}


def test_a_batch_larger_than_a_segment_is_sent_in_parts(kafka: KafkaServer, make: Make) -> None:
    """The broker answers RECORD_LIST_TOO_LARGE."""
    kafka.create_topic("segments", internal_segment_bytes="20000")
    assert make(topic="segments").send(events(300)) == {}
    assert len(kafka.received("segments")) == 300


def test_topic_with_a_lower_limit_gets_smaller_batches(kafka: KafkaServer, make: Make) -> None:
    kafka.create_topic("small", max_message_bytes="20000")
    target = make(topic="small")
    for prefix in ("a", "b"):
        assert target.send(events(300, prefix)) == {}
    expected = [minio.path(put) for prefix in ("a", "b") for put in events(300, prefix)]
    assert [arrival.key for arrival in kafka.received("small")] == expected
    assert max(batch.messages for batch in kafka.batches("small")) > 1


def test_event_too_large_for_the_topic_is_rejected_alone(kafka: KafkaServer, make: Make) -> None:
    kafka.create_topic("small", max_message_bytes="20000")
    batch = events(30)
    for index in (3, 17):
        batch[index] = event("large", 1, principal="p" * 20_000)
    target = make(topic="small")
    failures = target.send(batch)
    assert failures.keys() == {3, 17}
    for error in failures.values():
        assert type(error) is TooLargeError
        assert "raise max.message.bytes of topic small, or set compression_codec" in str(error)
    assert len(kafka.received("small")) == 28
    assert make(topic="small", compression_codec="gzip").send(batch) == {}


def test_other_brokers_and_addresses_are_tried(kafka: KafkaServer, make: Make) -> None:
    port = kafka.address.rpartition(":")[2]
    for brokers in (f"127.0.0.1:1,{kafka.address}", f"localhost:{port}", f" {kafka.address} ,"):
        target = make(brokers=brokers)
        target.probe()
        assert target.send(events(1)) == {}
    assert len(kafka.received()) == 3
    statuses = [
        (finding.check, finding.status)
        for finding in findings(make(brokers=f"127.0.0.1:1,{kafka.address}"))
    ]
    assert [status for status in statuses if status[1] != "ok"] == [("tcp", "warn")]
    assert statuses[-1] == ("access", "ok")


@pytest.mark.parametrize(
    ("login", "broken", "expected"),
    [
        ("alice", {"brokers": "unknown.invalid:9092"}, "see brokers, and the function's VPC"),
        ("alice", {"brokers": "127.0.0.1:1"}, "refused; see brokers"),
        ("alice", {"brokers": "tls"}, "do sasl = on and tls = off suit the port"),
        ("alice", {"brokers": "open"}, "see sasl and sasl_mechanism"),
        ("anonymous", {}, "do sasl = off and tls = off suit the port"),
        ("alice over TLS", {"brokers": "plain"}, "does tls = on suit the port"),
        ("alice over TLS", {"cert_authority": ""}, "set cert_authority"),
        (
            "alice over TLS",
            {"cert_authority": "-----BEGIN CERTIFICATE-----\nMII"},
            "cert_authority, client_tls_cert or client_tls_key cannot be used",
        ),
    ],
)
def test_failed_connection_has_a_hint(
    kafka: KafkaServer, make: Make, login: str, broken: dict[str, str], expected: str
) -> None:
    addresses = {name: f"127.0.0.1:{port}" for name, port in kafka.ports.items()}
    overrides = {key: addresses.get(value, value) for key, value in broken.items()}
    logins: dict[str, Callable[..., dict[str, str]]] = {
        "anonymous": partial(kafka.settings, sasl="off", sasl_username="", sasl_password=""),
        "alice": kafka.settings,
        "alice over TLS": kafka.tls_settings,
    }
    target = make(logins[login](**overrides))
    for error in (refusal(target), probe_error(target)):
        assert isinstance(error, NotConnected)
        assert expected in str(error)
        assert target.where in str(error)


def test_beside_partitions_without_leader_the_others_get_their_events(
    creating: KafkaServer, make: Make
) -> None:
    batch, disk = events(100), creating.process.folder / "disk"
    creating.create_topic("parts", 4)
    target = make(creating.settings(topic="parts"))
    assert target.send(batch) == {}
    moved, give_up = disk.rename(disk.with_name("moved")), time.monotonic() + HANGS_AFTER
    disk.touch()
    while not target.send(batch):  # until the broker writes there again
        assert time.monotonic() < give_up
    failures = target.send(batch)
    assert 0 < len(failures) < len(batch)
    for error in failures.values():
        assert type(error) is Retryable, "nobody is away"
        assert "has it a leader" in str(error)
    disk.unlink()
    moved.rename(disk)
    creating.stop()
    creating.start_again()
    assert target.send([batch[index] for index in failures]) == {}


def test_an_advertised_address_that_cannot_be_reached_is_named(
    kafka: KafkaServer, make: Make
) -> None:
    error = refusal(make(kafka.relayed_settings()))
    assert type(error) is NotConnected
    assert f"127.0.0.1:{kafka.ports['relay']}/1" in str(error)
    assert "advertises this address (advertised.listeners)" in str(error)
