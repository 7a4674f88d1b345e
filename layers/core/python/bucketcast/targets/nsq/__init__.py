"""NSQ: each event is a message of a topic, confirmed by nsqd.

Tested with nsqd 1.3.0. The message is MinIO's body, `{"EventName", "Key", "Records": [event]}`,
unless `shape` says otherwise. NSQ has no message headers, so there is no event id: to recognise
duplicates, compare eventName, key, versionId and sequencer of the record.

* Events go over TCP to the one nsqd at `nsqd_address`; nsqlookupd is for consumers only. The first
  event creates the topic. Until the topic has a channel it keeps the events; after that, each
  channel gets every event.
* Events are published in bulk (`MPUB`), which nsqd accepts or refuses as a whole. If the connection
  breaks before nsqd has answered, up to four parts of 32 KiB, or some 100 events, are sent again,
  and may arrive twice. Connecting takes at most 5 s, a batch 30 s more.
* Durability of confirmed events depends on nsqd. It keeps up to 10,000 messages of a topic in
  memory, and loses them in a crash. `--mem-queue-size=0` writes every message to disk, and
  `--sync-every=1` syncs after each. A topic that ends in `#ephemeral` is never written to disk:
  messages beyond the memory queue are dropped, and the topic goes with its last channel.
* `tls` upgrades the connection on nsqd's usual port. If nsqd has no `--tls-cert`, the target
  refuses to send. With `--tls-client-auth-policy=require-verify`, nsqd needs `client_cert` and
  `client_key`.
* `auth_secret` is for an nsqd with `--auth-http-address`. It needs the permission `publish` for the
  topic, with a channel pattern that matches the empty name, such as `.*`. It is sent only if nsqd
  asks for it, in plain text unless `tls` is on. `bucketcast target ls` detects a wrong secret; a
  missing permission shows with the first event.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.targets import base
from bucketcast.targets.nsq.answers import ANSWERS
from bucketcast.targets.nsq.batch import Limits, commands
from bucketcast.targets.nsq.settings import NsqSettings

if TYPE_CHECKING:
    from bucketcast.targets.nsq.client import Client


class Target(base.Connected["Client"]):
    """One topic of one nsqd; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "nsq"
    client: ClassVar[str] = "bucketcast.targets.nsq.client"
    answers = ANSWERS
    Settings = NsqSettings
    settings: NsqSettings

    def __init__(self, settings: NsqSettings) -> None:
        super().__init__(settings)
        self._limits = Limits()

    @property
    def where(self) -> str:
        return f"{self.settings.server}, topic {self.settings.topic}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Publish the batch in parts, which nsqd confirms in order.

        After an error nsqd closes the connection. If the error names a size limit, the unconfirmed
        events are sent again within it; any other error fails them.
        """
        failures: dict[int, DeliveryError] = {}
        with self._lock:
            deadline, start = time.monotonic() + base.CONNECT_SECONDS + self.timeout, 0
            while start < len(events):
                limits = self._limits  # kept here, as dropping the connection resets them
                start, error = self._publish(events, start, failures, deadline)
                if error is None:
                    break
                lowered = limits.lower(str(error))
                if lowered is None:
                    failures.update(dict.fromkeys(range(start, len(events)), error))
                    break
                self._limits = lowered
        return failures

    def endpoints(self) -> list[base.Endpoint]:
        from bucketcast.targets.base import tls  # noqa: PLC0415 - as the client
        from bucketcast.targets.nsq.client import request_tls  # noqa: PLC0415

        context = tls.context(self.settings) if self.settings.encrypted else None
        return [self.settings.server._replace(context=context, upgrade=request_tls)]

    def probe(self) -> None:
        """Connect and log in; a missing right to publish only shows with an event."""
        self.close()
        self.login()

    def _publish(
        self,
        events: Sequence[Event],
        start: int,
        failures: dict[int, DeliveryError],
        deadline: float,
    ) -> tuple[int, DeliveryError | None]:
        """Return the index after the last settled event, and the error that ended the batch."""
        try:
            with self._connection() as client:
                parts = commands(
                    self.settings.topic, events, start, self.shape.message, self._limits, failures
                )
                for end in client.publish(parts, deadline):
                    start = end
        except DeliveryError as error:
            return start, error
        return len(events), None

    def _connect(self) -> "Client":
        from bucketcast.targets.nsq.client import Client  # noqa: PLC0415 - needs sockets and ssl

        return Client(self.settings, time.monotonic() + base.CONNECT_SECONDS)

    def _drop(self) -> None:
        """Drop the connection and the limits, which nsqd changes only by a restart."""
        self._limits = Limits()
        super()._drop()
