"""The consumer in examples/ prints what the target publishes."""

from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.settings import options
from bucketcast.targets.amqp import Target
from tests.contract.consumers import consumer, failure, words
from tests.contract.trial import DELETE, event
from tests.servers.amqp import AmqpServer


@pytest.fixture
def amqp(server: Callable[[str], Any]) -> AmqpServer:
    found: AmqpServer = server("amqp")
    return found


def test_it_prints_what_is_delivered(amqp: AmqpServer) -> None:
    batch = [event("a b/é.jpg", 42), event("a b/é.jpg", 43, DELETE)]
    with consumer("amqp", amqp.destination, "--durable", AMQP_URL=amqp.url()) as program:
        assert words(program) == ["waiting", "for", "events", "of", amqp.destination]
        with Target(options.read(Target.Settings, amqp.settings())) as target:
            assert target.send(batch) == {}
        assert [words(program) for _ in batch] == [
            [batch[0].time, "s3:ObjectCreated:Put", "uploads/a", "b/é.jpg", "42"],
            [batch[1].time, "s3:ObjectRemoved:Delete", "uploads/a", "b/é.jpg", "-"],
        ]


def test_a_refused_login_is_reported(amqp: AmqpServer) -> None:
    with consumer("amqp", amqp.destination, AMQP_URL=amqp.url(password="other")) as program:
        reason = failure(program)
    assert f"cannot read {amqp.destination}: ProbableAuthenticationError" in reason
