"""MQTT 5, 3.1.1 and 3.1: each event is a message on a topic, over TCP, TLS or websockets.

Tested with Mosquitto 2.0 and NATS 2.15, tried with RabbitMQ 3.10; the latter two know 3.1.1 only.
Options are MinIO's, and beyond them `version`, `client_id`, a CA and a client certificate. The
message is MinIO's JSON body `{"EventName", "Key", "Records"}`, never retained.

`broker` has one of the schemes `tcp` (port 1883 unless given), `tls`, `ssl` or `tcps` (8883),
`ws` (80) and `wss` (443); the path of a websocket's URL is used. A login in the URL, percent-
encoded, stands for `username` and `password`. The user needs the right to publish to the topic, and
no other.

What it means that an event was delivered depends on `qos`:

=====  ===========================================================================================
``0``  MinIO's default. The broker confirms no event. After each batch it is asked for a sign of
       life, which MQTT lets it give only when it has read all that came before. So an event is not
       lost on the way; but the broker may drop it without a word, as where a rule forbids it, or
       lose it in a crash
``1``  the broker confirmed that it has the event. Use this
``2``  the same in four steps instead of two. That nothing comes twice holds within one connection
       only: an event whose confirmation was lost is sent again, as another message
=====  ===========================================================================================

`version` is `auto`: MQTT 5, or 3.1.1 where the broker refuses it or hangs up, or then 3.1. With
MQTT 5

* the content type `application/json` and the user property `event-id`, the same for every delivery
  of the same event, stand beside the body, and so do the attributes of
  `shape = cloudevents-binary`, which needs MQTT 5; messages do not expire;
* the broker says how many unconfirmed messages it takes; an older one gets 20;
* it says why it does not take an event, which then waits with that reason and lets its neighbours
  go on. An older one can only confirm what it forbids, and it is lost, or hang up, and the whole
  batch waits;
* it says how large a message may be: a larger event is not sent and waits, for 13 days, for that
  limit to be raised. An older broker hangs up.

That nobody subscribes is no failure.

The session is clean. The client id is `client_id` and twelve hex digits, drawn by chance in each
container of the function: two clients of one id would throw each other out. A connection that is
made again takes the place of its lost one. Rules of a broker may go by the beginning; `bucketcast`
and the digits are as short and plain as any broker takes; 3.1 allows 23 characters in all.

One connection is kept. Between two batches a function sleeps and sends no sign of life; a broker
gives it up after 1.5 times `keep_alive_interval`. So a connection that was idle for that interval
is replaced, and so is one that was closed meanwhile, without a failure. When a connection breaks in
a batch, all that was not confirmed fails and comes again. Connecting takes 5 s at most, 10 s where
several versions are tried, a batch 30 s.

Not supported: `reconnect_interval`, as there is no connection that would have to be held between
batches; the target's queue tries again after 1, 2, 4 … s. Retained messages, which would show a new
subscriber the last event only. A topic for each key: keys hold `+` and `#`, which topics must not.
"""

import math
import os
import time
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from bucketcast.errors import NotAuthorized, NotConnected
from bucketcast.event import Event
from bucketcast.targets import base
from bucketcast.targets.mqtt import address
from bucketcast.targets.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5, Login, publisher
from bucketcast.targets.mqtt.settings import RANDOM_BYTES, MqttSettings, mistakes, notes

if TYPE_CHECKING:
    import ssl

    from bucketcast.targets.mqtt.connection import Connection

CONNECT_SECONDS = 5.0
KEEP_ALIVE = 10
"""Seconds where none are given, as in MinIO."""
_LEVELS = {
    "auto": (MQTT_5, MQTT_3_1_1, MQTT_3_1),
    "5": (MQTT_5,),
    "3.1.1": (MQTT_3_1_1,),
    "3.1": (MQTT_3_1,),
}


class Target(base.Target):
    """One topic of one broker; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "mqtt"
    client: ClassVar[str] = "bucketcast.targets.mqtt.delivery"
    attributes_prefix: ClassVar[str | None] = ""
    Settings = MqttSettings
    settings: MqttSettings

    def __init__(self, settings: MqttSettings) -> None:
        super().__init__(settings)
        self._client_id = settings.client_id + os.urandom(RANDOM_BYTES).hex()
        self._levels = _LEVELS[settings.version]
        if self.shape.attributes:  # which MQTT 3 has no place for
            self._levels = (MQTT_5,)
        self._lock = Lock()
        self._open: Connection | None = None
        self._context: ssl.SSLContext | None = None

    @classmethod
    def check(cls, settings: MqttSettings) -> list[tuple[str, str, str]]:
        return [*mistakes(settings), *super().check(settings)]

    @classmethod
    def notes(cls, settings: MqttSettings) -> list[str]:
        return [*super().notes(settings), *notes(settings)]

    @property
    def longest_send(self) -> float:
        return self._connecting + self.patience

    @property
    def _connecting(self) -> float:
        """Seconds for all the versions that may have to be tried: who refuses one does so soon."""
        return min(2, len(_LEVELS[self.settings.version])) * CONNECT_SECONDS

    @property
    def where(self) -> str:
        try:
            return f"{self._broker()}, topic {self.settings.topic}"
        except NotAuthorized as error:
            return f"({error})"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Publish the batch; what the broker refuses fails alone.

        When the connection breaks, or the broker takes too long, all that it had not confirmed
        fail.
        """
        from bucketcast.targets.mqtt.delivery import Batch  # noqa: PLC0415
        from bucketcast.targets.mqtt.outcome import TROUBLE, outcome, refusal  # noqa: PLC0415

        given, where = self.settings, self.where
        with self._lock:
            connection = self._connection()
            deadline = time.monotonic() + self.patience
            qos = int(given.qos)
            content_type = self.shape.content_type
            packet = publisher(
                self._levels[0], given.topic, qos, content_type, self._user_properties
            )
            batch = Batch(events, self.body, packet, lambda no: refusal(no, where))
            try:
                if qos:
                    batch.confirmed(connection, deadline)
                else:
                    batch.blindly(connection, deadline)
            except TROUBLE as error:
                self._drop()
                reason = outcome(error, where)
                return batch.failures | dict.fromkeys(batch.unconfirmed, reason)
            except BaseException:
                self._drop()  # an answer that nobody read must not be taken for that of another
                raise
            return batch.failures

    def headers(self, event: Event) -> dict[str, str]:
        """The content type and the user properties, which MQTT 3 has no place for."""
        if MQTT_5 not in self._levels:
            return {}
        return {"content-type": self.shape.content_type, **self._user_properties(event)}

    def _user_properties(self, event: Event) -> dict[str, str]:
        return {"event-id": event.id, **super().headers(event)}

    def probe(self) -> None:
        """See that the broker answers; whether the topic may be used, only an event shows."""
        from bucketcast.targets.mqtt.outcome import TROUBLE, outcome  # noqa: PLC0415

        with self._lock:
            # The connection that there is: another one with its id would throw it out.
            connection = self._connection()
            try:
                connection.ping(time.monotonic() + self.patience)
            except TROUBLE as error:
                self._drop()
                raise outcome(error, self.where) from None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _connection(self) -> "Connection":
        if self._open is not None and not self._open.is_fit:
            self._drop()
        if self._open is None:
            self._open = self._connect()
        return self._open

    def _connect(self) -> "Connection":
        """A session in the newest version that both know, which is remembered.

        Raises:
            NotConnected: there is none.
        """
        from bucketcast.targets.mqtt.connection import speaks_another  # noqa: PLC0415
        from bucketcast.targets.mqtt.outcome import TROUBLE, outcome  # noqa: PLC0415

        end = time.monotonic() + self._connecting
        for level in self._levels:
            try:
                made = self._session(level, min(end, time.monotonic() + CONNECT_SECONDS))
            except TROUBLE as error:
                if level == self._levels[-1] or not speaks_another(error):
                    raise outcome(error, self.where) from None
            else:
                self._levels = (level,)
                break
        if int(self.settings.qos) > made.limits.qos:
            made.close()
            most = f"the broker takes no qos above {made.limits.qos}"
            raise NotConnected(f"{self.where}: {most}; set qos to it")
        return made

    def _session(self, level: int, deadline: float) -> "Connection":
        from bucketcast import tls  # noqa: PLC0415 - only its own function needs ssl
        from bucketcast.targets.mqtt.connection import connect  # noqa: PLC0415

        given, broker = self.settings, self._broker()
        if broker.encrypted and self._context is None:
            self._context = tls.context(given)
        username, password = given.username, given.password.reveal()
        if broker.username:
            username, password = broker.username, broker.password
        login = Login(level, self._client_id, username, password, _keep_alive(given))
        return connect(broker, login, self._context, deadline)

    def _broker(self) -> address.Broker:
        try:
            return address.broker(self.settings.broker.reveal())
        except ValueError as error:
            raise NotAuthorized(f"broker: allowed is {error}") from None

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _keep_alive(given: MqttSettings) -> int:
    """Whole seconds, as MQTT counts them."""
    return math.ceil(given.keep_alive_interval) or KEEP_ALIVE
