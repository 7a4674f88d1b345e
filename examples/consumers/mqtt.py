"""Print what the MQTT target publishes, as it comes: time, name, bucket/key, size in bytes.

    pip install paho-mqtt
    python examples/consumers/mqtt.py localhost bucketevents

For a broker with logins: `--user NAME`, and the password in MQTT_PASSWORD. With `--id` the broker
keeps the session, so events that are published while this program is down arrive when it is back.
An event may arrive twice; with MQTT 5 both have the same user property `event-id`.
"""

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

# Python looks for modules beside a script first, and others here have their clients' names.
OWN = Path(__file__).resolve().parent
sys.path = [folder for folder in sys.path if Path(folder).resolve() != OWN]
import paho.mqtt.client as mqtt  # noqa: E402
from paho.mqtt.enums import CallbackAPIVersion  # noqa: E402
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def on_connect(client: mqtt.Client, topic: str, _flags: Any, code: Any, _properties: Any) -> None:
    """Subscribe after every connect, since the broker may have lost the session."""
    if code.is_failure:
        sys.exit(f"the broker refuses: {code}")
    client.subscribe(topic, qos=1)


def on_subscribe(_client: Any, topic: str, _number: int, codes: list[Any], _more: Any) -> None:
    """Say that events can come."""
    if codes[0].is_failure:
        sys.exit(f"the broker does not let this user subscribe to {topic}: {codes[0]}")
    print(f"waiting for events of {topic}", flush=True)


def on_message(_client: Any, _topic: str, message: mqtt.MQTTMessage) -> None:
    """Print the event of a message."""
    print(line(json.loads(message.payload)["Records"][0]), flush=True)


def main() -> None:
    """Listen until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the MQTT target publishes.")
    parser.add_argument("host", help="the broker")
    parser.add_argument("topic", help="the target's topic")
    parser.add_argument("--port", type=int, default=1883, help="1883 unless given")
    parser.add_argument("--user", help="whose password is in MQTT_PASSWORD")
    parser.add_argument("--id", default="", help="the client id of a session that is kept")
    options = parser.parse_args()
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2, options.id, protocol=mqtt.MQTTv5, userdata=options.topic
    )
    client.on_connect = on_connect
    client.on_subscribe = on_subscribe
    client.on_message = on_message
    client.username_pw_set(options.user, os.environ.get("MQTT_PASSWORD"))
    session = Properties(PacketTypes.CONNECT)
    if options.id:
        session.SessionExpiryInterval = 7 * 86_400
    try:
        client.connect(options.host, options.port, clean_start=not options.id, properties=session)
    except OSError as error:
        sys.exit(f"cannot reach {options.host}:{options.port}: {error}")
    client.loop_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
