"""Mosquitto with a password file and rules, over TCP, TLS, websockets and both.

A subscriber with a session that the broker keeps stands for the consumers. From `clear` or
`received` on it listens all the time, so that what the broker sent it outlives a broker that is
killed; before that the broker keeps what comes.
"""

import os
import signal
import ssl
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
from tests.servers.tls import Tls, as_files

USER, PASSWORD = "alice", "alice-s3cret"
"""May publish to what begins with `bucket/`, and nothing else."""
OBSERVER, OBSERVER_PASSWORD = "observer", "observer-s3cret"
"""May do all."""
CONSUMED = "bucket/#"
WAIT = 5.0

_RULES = f"""\
topic write bucket/#

user {USER}
topic write bucket/#
user {OBSERVER}
topic readwrite #
"""

# `queue_qos0_messages`: the subscriber asks for quality of service 0, as what is on its way to it
# must not wait for its confirmation, and is to get all the same what came while it was away.
_CONFIGURATION = """\
per_listener_settings true
persistence true
persistence_location {folder}/
queue_qos0_messages true
max_queued_messages 0
log_dest stderr
"""
_CHECKED = "allow_anonymous false\npassword_file {folder}/passwords\nacl_file {folder}/rules\n"
_ENCRYPTED = "cafile {tls.ca}\ncertfile {tls.server_cert}\nkeyfile {tls.server_key}\n"
LISTENERS = {
    "tcp": "",
    "tls": _ENCRYPTED,
    "mtls": _ENCRYPTED + "require_certificate true\n",
    "ws": "protocol websockets\n",
    "wss": _ENCRYPTED + "protocol websockets\n",
}
"""What stands below the port of each."""


class Observer:
    """The subscriber: a client with a thread of its own that keeps what arrives."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._arrived: list[paho.MQTTMessage] = []
        self._marks = count(1)
        self._last_mark = 0
        self._subscribed = False
        self._changed = threading.Condition()
        self._client: paho.Client | None = None

    def listen(self) -> None:
        """Be subscribed; `OSError` where that is not possible."""
        if self._subscribed:
            return
        self.rest()
        self._client = made = client(OBSERVER, OBSERVER_PASSWORD, "observer")
        made.on_connect = self._on_connect
        made.on_subscribe = lambda *_: self._is_subscribed(yes=True)
        made.on_disconnect = lambda *_: self._is_subscribed(yes=False)
        made.on_message = self._on_message
        kept = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        kept.SessionExpiryInterval = 86_400
        made.connect("127.0.0.1", self._port, clean_start=False, properties=kept)
        made.loop_start()
        self._wait(lambda: self._subscribed)

    def rest(self) -> None:
        """Leave what comes to the broker, if there is one."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None

    def hear_the_end(self) -> None:
        """Take what a broker that has just ended sent before."""
        self._wait(lambda: not self._subscribed)
        self.rest()

    def arrived(self) -> list[paho.MQTTMessage]:
        """All that the broker took so far: it comes in order, so that a mark comes last."""
        self.listen()
        assert self._client is not None
        mark = next(self._marks)
        self._client.publish("mark", str(mark))
        self._wait(lambda: self._last_mark >= mark)
        return list(self._arrived)

    def forget(self) -> None:
        self._arrived.clear()

    def _wait(self, until: Callable[[], bool]) -> None:
        with self._changed:
            if not self._changed.wait_for(until, WAIT):
                raise ConnectionError("the observer does not hear from the broker")

    def _is_subscribed(self, *, yes: bool) -> None:
        with self._changed:
            self._subscribed = yes
            self._changed.notify_all()

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe([(topic, SubscribeOptions(0)) for topic in (CONSUMED, "mark")])

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        with self._changed:
            if message.topic == "mark":
                self._last_mark = int(message.payload)
                self._changed.notify_all()
            else:
                self._arrived.append(message)


class MqttServer(Server):
    """Its `destination` is a topic."""

    kind = "mqtt"
    destination = "bucket/events"

    def __init__(
        self, process: Process, tls: Tls, chosen: Mapping[str, int], observer: Observer
    ) -> None:
        super().__init__(process, tls)
        self.ports = chosen
        self.observer = observer

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports['tcp']}"

    def version(self) -> str:
        program = str(self.process.arguments[0])
        usage = subprocess.run([program, "-h"], capture_output=True, text=True, check=False).stdout
        return f"Mosquitto {usage.split()[2]}"

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
        """Where one of `LISTENERS` is."""
        scheme = "tls" if listener == "mtls" else listener
        return f"{scheme}://127.0.0.1:{self.ports[listener]}"

    def wrong_password_settings(self, **overrides: str) -> Settings:
        return self.settings(**{"password": "wr0ng-s3cret", **overrides})

    def tls_settings(self, **overrides: str) -> Settings:
        verified = {"broker": self.url("tls"), "cert_authority": self.tls.ca.read_text()}
        return self.settings(**{**verified, **overrides})

    def mtls_settings(self, **overrides: str) -> Settings:
        own = {
            "broker": self.url("mtls"),
            "client_cert": self.tls.client_cert.read_text(),
            "client_key": self.tls.client_key.read_text(),
        }
        return self.tls_settings(**{**own, **overrides})

    def received(self, destination: str = "") -> list[Arrival]:
        return [_arrival(each) for each in self.messages(destination)]

    def messages(self, destination: str = "") -> list[paho.MQTTMessage]:
        """What `received` gives, as paho gives it."""
        return [
            each
            for each in self.observer.arrived()
            if each.topic == (destination or self.destination)
        ]

    def log(self) -> str:
        """What the broker says of its clients, since the folder was made."""
        return (self.process.folder / "log").read_text()

    def change_password(self, password: str) -> None:
        """Let `USER` in by this one alone, from now on."""
        users = {USER: password, OBSERVER: OBSERVER_PASSWORD}
        _write_passwords(self.process.folder / "passwords", users)
        self.process.send_signal(signal.SIGHUP)

    def clear(self) -> None:
        self.observer.arrived()
        self.observer.forget()

    def stop(self) -> None:
        super().stop()
        self.observer.hear_the_end()

    def kill(self) -> None:
        super().kill()
        self.observer.hear_the_end()


def client(user: str, password: str, name: str = "") -> paho.Client:
    """A client of MQTT 5."""
    made = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
    made.username_pw_set(user, password)
    return made


def _context(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=settings["cert_authority"])
    with as_files(settings) as files:
        if "client_cert" in files:
            context.load_cert_chain(files["client_cert"], files["client_key"])
    return context


def _arrival(message: paho.MQTTMessage) -> Arrival:
    found = message.properties
    headers = dict(getattr(found, "UserProperty", []))
    if content_type := getattr(found, "ContentType", ""):
        headers["content-type"] = content_type
    return Arrival(body=bytes(message.payload), headers=headers)


def start(folder: Path, tls: Tls, *, outlives: bool = False, more: str = "") -> MqttServer:
    """Start Mosquitto with its data in `folder`; see `servers.Module.start`.

    `more` are lines of its configuration for its plain listener, such as a limit.
    """
    program = find_program("mosquitto", "/opt/homebrew/sbin", "/usr/local/sbin")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, *LISTENERS)
    _write_passwords(folder / "passwords", {USER: PASSWORD, OBSERVER: OBSERVER_PASSWORD})
    (folder / "rules").write_text(_RULES)
    lines = [_CONFIGURATION.format(folder=folder)]
    lines += ["user root"] if os.geteuid() == 0 else []
    for name, below in LISTENERS.items():
        checks = "" if "allow_anonymous" in below else _CHECKED
        options = (checks + below).format(tls=tls, folder=folder)
        lines += [f"listener {chosen[name]} 127.0.0.1", options]
        lines += [more] if name == "tcp" else []
    configuration = folder / "mosquitto.conf"
    configuration.write_text("\n".join(lines))
    observer = Observer(chosen["tcp"])
    process = Process(
        [program, "-c", str(configuration)],
        folder,
        ready=observer.listen,
        not_ready_yet=(OSError,),
        outlives=outlives,
    )
    server = MqttServer(process, tls, chosen, observer)
    new = not (folder / "mosquitto.db").exists()
    process.start()
    observer.rest()
    if new:
        # Ended in order it writes who has subscribed, which it then knows after a kill, too.
        process.stop()
        process.start()
        observer.rest()
    return server


def _write_passwords(file: Path, users: Mapping[str, str]) -> None:
    file.touch(mode=0o600)
    file.write_text("".join(f"{user}:{password}\n" for user, password in users.items()))
    subprocess.run([find_program("mosquitto_passwd"), "-U", file], check=True)
