"""When to abandon Kafka's brokers, by the errors that librdkafka reports while it retries."""

import time

import pytest
from confluent_kafka import KafkaError

from bucketcast.errors import NotAuthorized, NotConnected
from bucketcast.settings.options import read
from bucketcast.targets.kafka import Target, health
from bucketcast.targets.kafka.health import BrokerHealth

REFUSED = KafkaError(
    KafkaError._TRANSPORT,
    "b1:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused "
    "(after 3ms in state CONNECT)",
)
ENDED = KafkaError(KafkaError._TRANSPORT, "b1:9092/1: Disconnected (after 600000ms in state UP)")
ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")
LOGIN = KafkaError(
    KafkaError._AUTHENTICATION,
    "b1:9092/bootstrap: SASL authentication error: wrong (after 3ms in state AUTH_REQ)",
)
NOT_ALLOWED = KafkaError(
    KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Failed to acquire PID", fatal=True
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    return made


@pytest.fixture
def found() -> BrokerHealth:
    return BrokerHealth(read(Target.Settings, {"brokers": "b1,b2", "topic": "t"}), "b1,b2, topic t")


def test_one_of_several_brokers_may_be_down(found: BrokerHealth, clock: Clock) -> None:
    found.hear(REFUSED)
    clock.now += 60
    assert not found.should_give_up


def test_brokers_that_are_all_down_are_abandoned_soon(found: BrokerHealth, clock: Clock) -> None:
    for error in (REFUSED, ALL_DOWN):
        found.hear(error)
    assert not found.should_give_up, "the name may have another address"
    clock.now += health.GRACE + 0.1
    assert found.should_give_up
    assert type(found.reason()) is NotConnected
    assert str(found.reason()).startswith(
        "b1,b2, topic t: b1:9092: Connect to ipv4#10.0.0.1:9092 failed: Connection refused; see "
    )


def test_connections_that_grew_old_are_opened_again(found: BrokerHealth, clock: Clock) -> None:
    found.reset()
    for error in (ENDED, ALL_DOWN):
        found.hear(error)
    clock.now += 60
    assert not found.should_give_up
    found.hear(REFUSED)
    assert not found.should_give_up
    clock.now += health.GRACE + 0.1
    assert found.should_give_up


def test_a_good_sign_lets_all_be_forgotten(found: BrokerHealth, clock: Clock) -> None:
    for error in (REFUSED, ALL_DOWN):
        found.hear(error)
    clock.now += 60
    found.reset()
    assert not found.should_give_up
    assert not found.has_error


@pytest.mark.parametrize(
    ("error", "expected"),
    [(LOGIN, "see sasl_username"), (NOT_ALLOWED, "IDEMPOTENT_WRITE on the cluster")],
)
def test_errors_that_no_other_broker_would_change_are_reported_at_once(
    found: BrokerHealth, error: KafkaError, expected: str
) -> None:
    found.hear(error)
    assert found.should_give_up
    assert isinstance(found.reason(), NotAuthorized)
    assert expected in str(found.reason())
