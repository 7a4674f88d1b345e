"""The consumer in examples/ prints what a target publishes."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.mqtt import Target
from tests.contract.consumers import Consumer, consumer, failure, words
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.mqtt import OBSERVER, OBSERVER_PASSWORD, MqttServer


@pytest.fixture
def mosquitto(server: Callable[[str], Server]) -> MqttServer:
    found = server("mqtt")
    assert isinstance(found, MqttServer)
    return found


def observer(
    mosquitto: MqttServer, *options: str, password: str = OBSERVER_PASSWORD
) -> AbstractContextManager[Consumer]:
    port = str(mosquitto.ports["tcp"])
    arguments = ("127.0.0.1", mosquitto.destination, "--port", port, "--user", OBSERVER, *options)
    return consumer("mqtt", *arguments, MQTT_PASSWORD=password)


def test_the_consumer_prints_what_the_target_publishes(mosquitto: MqttServer) -> None:
    with (
        observer(mosquitto) as program,
        Target(read(Target.Settings, mosquitto.settings())) as mqtt,
    ):
        assert words(program) == ["waiting", "for", "events", "of", mosquitto.destination]
        batch = [event("a é.jpg", 42), event("gone", 43, DELETE)]
        assert mqtt.send(batch) == {}
        assert words(program) == [batch[0].time, batch[0].name, "uploads/a", "é.jpg", "42"]
        assert words(program) == [batch[1].time, batch[1].name, "uploads/gone", "-"]


def test_a_session_with_an_id_gets_what_came_meanwhile(mosquitto: MqttServer) -> None:
    with observer(mosquitto, "--id", "reader") as program:
        assert words(program)[0] == "waiting"
    with Target(read(Target.Settings, mosquitto.settings())) as mqtt:
        assert mqtt.send([event("meanwhile")]) == {}
    with observer(mosquitto, "--id", "reader") as program:
        lines = [words(program), words(program)]
    assert "uploads/meanwhile" in lines[0] + lines[1]


def test_a_refused_login_is_reported(mosquitto: MqttServer) -> None:
    with observer(mosquitto, password="wr0ng-s3cret") as program:
        assert failure(program) == "the broker refuses: Not authorized\n"
