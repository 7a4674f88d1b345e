"""The Kafka target's settings, and the health of its brokers.

The health comes from the errors that librdkafka reports while it retries.
"""

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from bucketcast.errors import NotAuthorized, NotConnected, Retryable
from bucketcast.settings import options
from bucketcast.targets.kafka import Target
from bucketcast.targets.kafka.errors import GRACE, BrokerHealth
from tests.unit.samples import event

REFUSED = KafkaError(
    KafkaError._TRANSPORT,
    "b1:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused "
    "(after 3ms in state CONNECT)",
)
CLOSED = KafkaError(KafkaError._TRANSPORT, "b1:9092/1: Disconnected (after 600000ms in state UP)")
ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")
LOGIN = KafkaError(
    KafkaError._AUTHENTICATION,
    "b1:9092/bootstrap: SASL authentication error: wrong (after 3ms in state AUTH_REQ)",
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    return made


@pytest.fixture
def brokers() -> BrokerHealth:
    return BrokerHealth(
        options.read(Target.Settings, {"brokers": "b1,b2", "topic": "t"}), "b1,b2, topic t"
    )


def test_one_of_several_brokers_may_be_down(brokers: BrokerHealth, clock: SimpleNamespace) -> None:
    brokers.record(REFUSED)
    clock.now += 60
    assert not brokers.should_give_up


def test_brokers_that_are_all_down_are_given_up_soon(
    brokers: BrokerHealth, clock: SimpleNamespace
) -> None:
    for error in (REFUSED, ALL_DOWN):
        brokers.record(error)
    assert not brokers.should_give_up, "the name may have another address"
    clock.now += GRACE + 0.1
    assert brokers.should_give_up
    assert type(brokers.error()) is NotConnected
    assert str(brokers.error()).startswith(
        "b1,b2, topic t: b1:9092: Connect to ipv4#10.0.0.1:9092 failed: Connection refused; see "
    )


def test_end_of_an_idle_connection_is_no_failure(
    brokers: BrokerHealth, clock: SimpleNamespace
) -> None:
    brokers.reset()
    for error in (CLOSED, ALL_DOWN):
        brokers.record(error)
    clock.now += 60
    assert not brokers.should_give_up
    brokers.record(REFUSED)
    assert not brokers.should_give_up
    clock.now += GRACE + 0.1
    assert brokers.should_give_up


def test_answer_of_a_broker_resets_the_health(
    brokers: BrokerHealth, clock: SimpleNamespace
) -> None:
    for error in (REFUSED, ALL_DOWN):
        brokers.record(error)
    clock.now += 60
    brokers.reset()
    assert not brokers.should_give_up
    assert not brokers.has_error


def test_a_refused_login_is_reported_at_once(brokers: BrokerHealth) -> None:
    brokers.record(LOGIN)
    assert brokers.should_give_up
    assert isinstance(brokers.error(), NotAuthorized)
    assert "see sasl_username" in str(brokers.error())


def test_minios_variables_set_the_compression() -> None:
    declared = options.options_of(Target.Settings)
    assert declared["compression_codec"].variable == "PRODUCER_COMPRESSION_CODEC"
    assert declared["compression_level"].variable == "PRODUCER_COMPRESSION_LEVEL"


def test_a_refusal_that_names_no_event_fails_all(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(options.read(Target.Settings, {"brokers": "b1:9092", "topic": "t"}))
    client = SimpleNamespace(send=lambda *_: {b"": Retryable("refused")})
    monkeypatch.setattr(target, "_connection", lambda: nullcontext(client))
    assert target.send([event("a"), event("b")]).keys() == {0, 1}
