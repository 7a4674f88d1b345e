"""MQTT 5, 3.1.1 and 3.1: each event is a message on a topic, over TCP, TLS or WebSockets.

Tested with Mosquitto 2.0 and NATS 2.15, tried with RabbitMQ 3.10; the latter two support 3.1.1
only. The message is MinIO's JSON body `{"EventName", "Key", "Records"}`, never retained. An event
without subscribers is delivered. When an event counts as delivered depends on `qos`:

* `0`, MinIO's default: the broker confirms no single event. After each batch the target sends a
  ping, which brokers answer after reading everything before it. So no event is lost on the way, but
  the broker may drop it silently, for example because of an ACL, or lose it in a crash.
* `1`, recommended: the broker confirmed the event.
* `2`: the same in four steps instead of two. It excludes duplicates only within one connection: if
  a confirmation is lost, the event is sent again as a new message.

`broker` is a URL with one of the schemes `tcp` (default port 1883), `tls`, `ssl` or `tcps` (8883),
`ws` (80) and `wss` (443); the path of a WebSocket URL is used. It may contain the user name and
password, percent-encoded. The user only needs the permission to publish to the topic.

With `auth = iam`, the function's role logs in to [AWS IoT Core](../aws/iot-core.md).

`version = auto` tries MQTT 5, then 3.1.1 and 3.1 if the broker says that it does not support it.
With MQTT 5:

* a message has the content type `application/json`, the user property `event-id`, which is the same
  for every delivery of an event, and the attributes of `shape = cloudevents-binary`, which needs
  MQTT 5; messages do not expire
* the broker sets the number of unconfirmed messages; with older versions it is 20
* the broker says why it refuses an event: that event waits, and the others continue. With older
  versions it can only confirm a forbidden event, which is then lost, or disconnect, and then the
  whole batch waits

The session is clean. The client id is `client_id` followed by twelve random hex digits, new for
each instance of the function; ACLs can match the prefix. MQTT 3.1 limits the whole id to 23
characters.

A function sends no keep-alive pings between batches, so a connection that was idle for
`keep_alive_interval` is replaced before the next batch. If a connection breaks during a batch, all
unconfirmed events are retried. Connecting takes at most 5 s, or 10 s if several versions are tried;
a batch takes at most 30 s.

Not supported: retained messages, which would show new subscribers only the last event; and a topic
per key, as keys may contain `+` and `#`, which topic names must not.
"""

import math
import os
import time
from collections.abc import Sequence
from typing import ClassVar

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected
from bucketcast.event import Event
from bucketcast.targets import base
from bucketcast.targets.base import iam, options, tls
from bucketcast.targets.mqtt.address import Broker, parse
from bucketcast.targets.mqtt.answers import ANSWERS
from bucketcast.targets.mqtt.batch import Batch
from bucketcast.targets.mqtt.client import UNSUPPORTED_VERSION, Client, Refused, connect
from bucketcast.targets.mqtt.protocol import MQTT_3_1, MQTT_3_1_1, MQTT_5, Login, publish_encoder
from bucketcast.targets.mqtt.settings import RANDOM_BYTES, MqttSettings

KEEP_ALIVE = 10
"""The default in seconds, as in MinIO."""
_LEVELS = {
    "auto": (MQTT_5, MQTT_3_1_1, MQTT_3_1),
    "5": (MQTT_5,),
    "3.1.1": (MQTT_3_1_1,),
    "3.1": (MQTT_3_1,),
}


class Target(base.Connected[Client]):
    """One topic of one broker; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "mqtt"
    client: ClassVar[str] = "wsproto"
    answers = ANSWERS
    attributes_prefix: ClassVar[str | None] = ""
    Settings = MqttSettings
    settings: MqttSettings

    def __init__(self, settings: MqttSettings) -> None:
        super().__init__(settings)
        self._client_id = settings.client_id + os.urandom(RANDOM_BYTES).hex()
        self._levels = _LEVELS[settings.version]
        if self.shape.attributes:  # which MQTT 3 cannot carry
            self._levels = (MQTT_5,)

    @property
    def where(self) -> str:
        try:
            return f"{self._parse_broker()}, topic {self.settings.topic}"
        except NotAuthorized as error:
            return f"({error})"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Publish the batch; an event that the broker refuses fails alone.

        If the connection breaks or the broker takes too long, all unconfirmed events fail.
        """
        where = self.where
        with self._connection() as client:
            topic, qos, kind = self.settings.topic, int(self.settings.qos), self.shape.content_type
            encode = publish_encoder(client.level, topic, qos, kind, self._user_properties)
            batch = Batch(events, self.shape.message, encode, lambda e: ANSWERS.of(e, where))
            try:
                batch.send(client, qos, time.monotonic() + self.timeout)
            except self._raised() as error:
                batch.fail(batch.unconfirmed, self._answer(error))
                self._drop()
        return batch.failures

    def headers(self, event: Event) -> dict[str, str]:
        """Return the content type and the user properties, which MQTT 3 cannot carry."""
        if MQTT_5 not in self._levels:
            return {}
        return {"content-type": self.shape.content_type, **self._user_properties(event)}

    def endpoints(self) -> list[base.Endpoint]:
        broker = self._parse_broker()
        context = tls.context(self.settings) if broker.encrypted else None
        return [base.Endpoint(broker.host, broker.port, context)]

    def probe(self) -> None:
        """Ping the broker; a missing right to publish only shows with an event."""
        # Over the open connection: another one with the same id would replace it.
        with self._connection() as client:
            client.ping(time.monotonic() + self.timeout)

    def _user_properties(self, event: Event) -> dict[str, str]:
        return {"event-id": event.id, **super().headers(event)}

    def _connect(self) -> Client:
        """Open a session in the newest version that the broker supports.

        Only the broker's own word leads to an older one, and only for this connection: what an
        older one forbids, it confirms.

        Raises:
            NotConnected: the broker does not support the quality of service.
        """
        # For all versions: a broker refuses one quickly.
        end = time.monotonic() + 2 * base.CONNECT_SECONDS
        for level in self._levels:
            try:
                client = self._log_in(level, min(end, time.monotonic() + base.CONNECT_SECONDS))
            except self._raised() as error:
                unsupported = isinstance(error, Refused) and UNSUPPORTED_VERSION in error.codes
                if level == self._levels[-1] or not unsupported:
                    raise
            else:
                break
        if int(self.settings.qos) > client.limits.qos:
            client.close()
            reason = f"the broker takes no qos above {client.limits.qos}"
            raise NotConnected(f"{self.where}: {reason}; set qos to it")
        return client

    def _log_in(self, level: int, deadline: float) -> Client:
        settings, broker = self.settings, self._parse_broker()
        username, password = settings.username, settings.password
        if broker.username:
            username, password = broker.username, broker.password
        keep_alive = math.ceil(settings.keep_alive_interval) or KEEP_ALIVE  # in whole seconds
        login = Login(level, self._client_id, username, password, keep_alive)
        return connect(broker, login, settings, deadline)

    def _hints(self) -> dict[str, str]:
        return {"login_hint": iam.HINT} if self.settings.by_iam else {}

    def _answer(self, error: BaseException, *, ended: bool = False) -> DeliveryError:
        return super()._answer(error, ended=ended or isinstance(error, Refused))

    def _parse_broker(self) -> Broker:
        return options.parsed(self.settings, "broker", parse)
