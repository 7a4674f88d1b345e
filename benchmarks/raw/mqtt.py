"""paho-mqtt, which the target does not use: MQTT 3.1.1, 20 messages in flight, no thread."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio

IN_FLIGHT = 20
"""More is not faster, and is Mosquitto's limit with MQTT 5."""


def rows(events: Sequence[Event]) -> Batch:
    return [minio.log(event) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    broker = urlsplit(settings["broker"])
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.username_pw_set(settings["username"], settings["password"])
    client.max_inflight_messages_set(0)  # else each confirmation searches all waiting messages
    confirmed = 0

    def on_publish(*_: object) -> None:
        nonlocal confirmed
        confirmed += 1

    client.on_publish = on_publish
    client.connect(broker.hostname or "", broker.port or 0)
    while not client.is_connected():
        client.loop(0.1)

    def write(batch: Batch) -> None:
        nonlocal confirmed
        confirmed = sent = 0
        while confirmed < len(batch):
            while sent < len(batch) and sent - confirmed < IN_FLIGHT:
                client.publish(settings["topic"], batch[sent], int(settings["qos"]))
                sent += 1
            if client.loop(1.0):
                raise RuntimeError("the broker closed the connection")

    yield write
    client.disconnect()
