"""The consumer in examples/ prints what a target publishes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.mqtt import Target
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.mqtt import OBSERVER, OBSERVER_PASSWORD, MqttServer

SCRIPT = Path(__file__).parents[2] / "examples" / "consumers" / "mqtt.py"


@pytest.fixture
def mosquitto(server: Callable[[str], Server]) -> MqttServer:
    found = server("mqtt")
    assert isinstance(found, MqttServer)
    return found


@contextmanager
def consumer(
    mosquitto: MqttServer, *options: str, password: str = OBSERVER_PASSWORD
) -> Iterator[subprocess.Popen[str]]:
    port = str(mosquitto.ports["tcp"])
    command = [sys.executable, str(SCRIPT), "127.0.0.1", mosquitto.destination, "--port", port]
    program = subprocess.Popen(
        [*command, "--user", OBSERVER, *options],
        env={**os.environ, "MQTT_PASSWORD": password, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        yield program
        program.terminate()


def words(program: subprocess.Popen[str]) -> list[str]:
    assert program.stdout is not None
    return program.stdout.readline().split()


def test_the_consumer_prints_what_the_target_publishes(mosquitto: MqttServer) -> None:
    with (
        consumer(mosquitto) as program,
        Target(read(Target.Settings, mosquitto.settings())) as mqtt,
    ):
        assert words(program) == ["waiting", "for", "events", "of", mosquitto.destination]
        batch = [event("a é.jpg", 42), event("gone", 43, DELETE)]
        assert mqtt.send(batch) == {}
        assert words(program) == [batch[0].time, batch[0].name, "uploads/a", "é.jpg", "42"]
        assert words(program) == [batch[1].time, batch[1].name, "uploads/gone", "-"]


def test_a_session_with_an_id_gets_what_came_meanwhile(mosquitto: MqttServer) -> None:
    with consumer(mosquitto, "--id", "reader") as program:
        assert words(program)[0] == "waiting"
    with Target(read(Target.Settings, mosquitto.settings())) as mqtt:
        assert mqtt.send([event("meanwhile")]) == {}
    with consumer(mosquitto, "--id", "reader") as program:
        lines = [words(program), words(program)]
    assert "uploads/meanwhile" in lines[0] + lines[1]


def test_a_refused_login_is_reported(mosquitto: MqttServer) -> None:
    with consumer(mosquitto, password="wr0ng-s3cret") as program:
        assert program.stderr is not None
        assert program.stderr.readline() == "the broker refuses: Not authorized\n"
        assert program.wait(10) == 1
