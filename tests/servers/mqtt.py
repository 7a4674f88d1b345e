"""Mosquitto with a password file and ACLs, over TCP, TLS, websockets and both.

A subscriber with a persistent session stands for the consumers. From the first `clear` or
`received` on it stays connected, so that messages survive a broker that is killed; before that the
broker queues them.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import find_program, ports
from tests.servers.process import Process
from tests.servers.tls import Tls

USER, PASSWORD = "alice", "alice-s3cret"
"""May only publish to topics that begin with `bucket/`."""
OBSERVER, OBSERVER_PASSWORD = "observer", "observer-s3cret"
"""May do everything."""
CONSUMED = "bucket/#"
WAIT = 60.0

_ACL = f"""\
topic write bucket/#

user {USER}
topic write bucket/#
user {OBSERVER}
topic readwrite #
"""

# `queue_qos0_messages`: the subscriber uses quality of service 0, so that messages to it do not
# wait for its confirmation, and must still receive those that arrive while it is disconnected.
_CONFIGURATION = """\
per_listener_settings true
persistence true
persistence_location {folder}/
queue_qos0_messages true
max_queued_messages 0
log_dest stderr
"""
_AUTHENTICATED = "allow_anonymous false\npassword_file {folder}/passwords\nacl_file {folder}/acl\n"
_ENCRYPTED = "cafile {tls.ca}\ncertfile {tls.server_cert}\nkeyfile {tls.server_key}\n"
LISTENERS = {
    "tcp": "",
    "tls": _ENCRYPTED,
    "mtls": _ENCRYPTED + "require_certificate true\n",
    "ws": "protocol websockets\n",
    "wss": _ENCRYPTED + "protocol websockets\n",
}
"""The options of each listener, after its port."""


class Observer:
    """The subscriber: a client with its own thread, which keeps the messages."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._messages: list[paho.MQTTMessage] = []
        self._marks = count(1)
        self._last_mark = 0
        self._subscribed = False
        self._changed = threading.Condition()
        self._client: paho.Client | None = None

    def connect(self) -> None:
        """Connect and subscribe, unless it is subscribed.

        Raises:
            OSError: the broker is not ready.
        """
        if self._subscribed:
            return
        self.disconnect()
        self._client = subscriber = client(OBSERVER, OBSERVER_PASSWORD, "observer")
        subscriber.on_connect = self._on_connect
        subscriber.on_subscribe = lambda *_: self._set_subscribed(subscribed=True)
        subscriber.on_disconnect = lambda *_: self._set_subscribed(subscribed=False)
        subscriber.on_message = self._on_message
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 86_400
        subscriber.connect("127.0.0.1", self._port, clean_start=False, properties=properties)
        subscriber.loop_start()
        self._wait(lambda: self._subscribed)

    def disconnect(self) -> None:
        """Disconnect; the broker queues the messages."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None

    def drain(self) -> None:
        """Receive the last messages of a broker that has just ended."""
        self._wait(lambda: not self._subscribed)
        self.disconnect()

    def receive_all(self) -> list[paho.MQTTMessage]:
        """Return all messages so far; they arrive in order, so wait for a mark sent last."""
        self.connect()
        assert self._client is not None
        mark = next(self._marks)
        self._client.publish("mark", str(mark))
        self._wait(lambda: self._last_mark >= mark)
        return list(self._messages)

    def clear(self) -> None:
        self._messages.clear()

    def _wait(self, until: Callable[[], bool]) -> None:
        with self._changed:
            if not self._changed.wait_for(until, WAIT):
                raise ConnectionError("the observer receives nothing from the broker")

    def _set_subscribed(self, *, subscribed: bool) -> None:
        with self._changed:
            self._subscribed = subscribed
            self._changed.notify_all()

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe([(topic, SubscribeOptions(0)) for topic in (CONSUMED, "mark")])

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        with self._changed:
            if message.topic == "mark":
                self._last_mark = int(message.payload)
                self._changed.notify_all()
            else:
                self._messages.append(message)


class MqttServer(Server):
    """Its `destination` is a topic."""

    kind = "mqtt"
    destination = "bucket/events"
    password_option = "password"

    def __init__(
        self, process: Process, tls: Tls, ports: Mapping[str, int], observer: Observer
    ) -> None:
        super().__init__(process, tls, ports["tcp"])
        self.ports = ports
        self.observer = observer

    def settings(self, **overrides: str) -> Settings:
        return {
            "broker": self.url("tcp"),
            "topic": self.destination,
            "qos": "1",
            "username": USER,
            "password": PASSWORD,
            **overrides,
        }

    def url(self, listener: str) -> str:
        """Return the URL of one of `LISTENERS`."""
        scheme = "tls" if listener == "mtls" else listener
        return f"{scheme}://127.0.0.1:{self.ports[listener]}"

    def encrypted(self, *, demanding: bool) -> Settings:
        return {"broker": self.url("mtls" if demanding else "tls")}

    def received(self, destination: str = "") -> list[Arrival]:
        return [_arrival(message) for message in self.messages(destination)]

    def messages(self, destination: str = "") -> list[paho.MQTTMessage]:
        """Return the messages of `received` as paho's."""
        return [
            message
            for message in self.observer.receive_all()
            if message.topic == (destination or self.destination)
        ]

    def log(self) -> str:
        """Return the broker's log since the folder was created."""
        return (self.process.folder / "log").read_text()

    def change_password(self, password: str) -> None:
        """Change the password of `USER`."""
        users = {USER: password, OBSERVER: OBSERVER_PASSWORD}
        _write_passwords(self.process.folder / "passwords", users)
        self.process.send_signal(signal.SIGHUP)

    def clear(self) -> None:
        self.observer.receive_all()
        self.observer.clear()

    def stop(self) -> None:
        super().stop()
        self.observer.drain()

    def kill(self) -> None:
        super().kill()
        self.observer.drain()


def client(user: str, password: str, name: str = "") -> paho.Client:
    """Return a client of MQTT 5."""
    mqtt_client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
    mqtt_client.username_pw_set(user, password)
    return mqtt_client


def _arrival(message: paho.MQTTMessage) -> Arrival:
    properties = message.properties
    headers = dict(getattr(properties, "UserProperty", []))
    if content_type := getattr(properties, "ContentType", ""):
        headers["content-type"] = content_type
    return Arrival(body=bytes(message.payload), headers=headers)


def start(folder: Path, tls: Tls, *, more: str = "") -> MqttServer:
    """Start Mosquitto with its data in `folder`; see `servers.Module.start`.

    `more` has lines of configuration for the plain listener, such as a limit.
    """
    program = find_program("mosquitto", "/opt/homebrew/sbin", "/usr/local/sbin")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, *LISTENERS)
    _write_passwords(folder / "passwords", {USER: PASSWORD, OBSERVER: OBSERVER_PASSWORD})
    (folder / "acl").write_text(_ACL)
    lines = [_CONFIGURATION.format(folder=folder)]
    lines += ["user root"] if os.geteuid() == 0 else []
    for name, listener in LISTENERS.items():
        options = (_AUTHENTICATED + listener).format(tls=tls, folder=folder)
        lines += [f"listener {chosen[name]} 127.0.0.1", options]
        lines += [more] if name == "tcp" else []
    configuration = folder / "mosquitto.conf"
    configuration.write_text("\n".join(lines))
    observer = Observer(chosen["tcp"])
    process = Process(
        [program, "-c", str(configuration)],
        folder,
        ready=observer.connect,
        not_ready_yet=(OSError,),
    )
    server = MqttServer(process, tls, chosen, observer)
    new = not (folder / "mosquitto.db").exists()
    process.start()
    observer.disconnect()
    if new:
        # An orderly stop saves the subscription, so that a later kill does not lose it.
        process.stop()
        process.start()
        observer.disconnect()
    return server


def _write_passwords(file: Path, users: Mapping[str, str]) -> None:
    file.touch(mode=0o600)
    file.write_text("".join(f"{user}:{password}\n" for user, password in users.items()))
    subprocess.run([find_program("mosquitto_passwd"), "-U", file], check=True)
