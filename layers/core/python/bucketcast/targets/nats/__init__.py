"""NATS: each event is a message on a subject, by core NATS, JetStream or NATS Streaming.

The message is MinIO's JSON body. Its header `Nats-Msg-Id` is the same for every delivery of an
event, and different for each copy that a named rule sends; `Content-Type` is a header too. With
`shape = "cloudevents-binary"`, the attributes are headers `ce-…`, percent-encoded.

When an event counts as delivered depends on the mode:

* core NATS, the default: the server has received the message and passes it to current subscribers;
  later ones do not see it. A stream that has the subject stores it too.
* `jetstream = "on"`: the stream that has the subject has stored the message. The stream must exist,
  for example by `nats stream add events --subjects bucketevents`; until then events wait. It drops
  duplicates within its duplicate window, by their id.
  Behind a leaf node it may be in another domain, which `jetstream_domain` names.
* `streaming = "on"`: a NATS Streaming server has stored the message in the channel with the
  subject's name. Its messages have no headers. NATS Streaming has been unsupported since June 2023;
  how to migrate to JetStream is at the end.

Tested with nats-server 2.15 and NATS Streaming 0.25. Servers before 2.2 support neither headers,
which are then left out, nor JetStream.

Log in with one of `username` and `password`, `token`, `nkey_seed` or `user_credentials`. The user
needs to publish to the subject. JetStream also needs to subscribe to `_INBOX.>`, for
acknowledgements. Streaming needs to publish to `_STAN.>` and `_INBOX.>` instead, and to subscribe
to `_INBOX.>`. If the user may also publish to `$JS.API.STREAM.LIST`, `bucketcast target ls`
detects a missing stream.

`tls`, `tls_handshake_first`, `cert_authority` and `client_cert` each require an encrypted
connection. If the server does not offer TLS, the target disconnects before it sends a login.

One connection per function is kept, with up to 500 unacknowledged messages. Connecting takes at
most 5 s; events that are not confirmed within 30 s are retried. The address of a cluster should be
one name for all of its servers.

From NATS Streaming to JetStream: run a nats-server with JetStream beside the old server, and create
a stream with the subject. Let consumers read both the stream and the channel. Then change the
target's `address`, remove its `streaming` keys and set `jetstream = "on"`: events that wait in its
queue go to the stream. When the consumers have read the rest of the channel, stop the old server.
"""

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bucketcast.errors import DeliveryError, NotConnected
from bucketcast.event import Event
from bucketcast.shapes.cloudevents import in_header
from bucketcast.targets import base
from bucketcast.targets.base import tls
from bucketcast.targets.nats.answers import ANSWERS
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.settings import NatsSettings

if TYPE_CHECKING:
    from bucketcast.targets.nats.client import Client, Work

_MAX_INFO = 65_536


class Target(base.Connected["Client"]):
    """One subject of one server; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "nats"
    client: ClassVar[str] = "nats"
    attributes_prefix = "ce-"
    answers = ANSWERS
    Settings = NatsSettings
    settings: NatsSettings

    @property
    def where(self) -> str:
        return f"{self.settings.server}, subject {self.settings.subject}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        batch = Batch(events, self.shape.message, self._head)
        if events:
            with self._lock:
                self._deliver(batch)
        return batch.failures

    def headers(self, event: Event) -> dict[str, str]:
        """Return the message headers; none for NATS Streaming, which would lose them."""
        if self.settings.streams:
            return {}
        headers = {"Nats-Msg-Id": event.copy_id, "Content-Type": self.shape.content_type}
        if self.shape.attributes:
            for name, value in super().headers(event).items():
                headers[name] = in_header(value)
            # Only NATS's binding has the content type among the attributes.
            headers["ce-datacontenttype"] = self.shape.content_type
        return headers

    def endpoints(self) -> list[base.Endpoint]:
        settings = self.settings
        context = tls.context(settings) if settings.encrypted else None
        endpoint = settings.server._replace(context=context)
        if settings.tls_handshake_first:
            return [endpoint]
        return [endpoint._replace(upgrade=_read_info)]

    def probe(self) -> None:
        self._use(lambda publisher: publisher.probe())

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.deregister()
            self._drop()

    def _head(self, event: Event) -> bytes:
        lines = "".join([f"{name}: {value}\r\n" for name, value in self.headers(event).items()])
        return f"NATS/1.0\r\n{lines}\r\n".encode("ascii")

    def _deliver(self, batch: Batch) -> None:
        """Send the batch; if the connection fails, its error fails all unconfirmed events."""
        try:
            self._use(lambda publisher: publisher.send(batch))
        except DeliveryError as error:
            batch.fail(batch.unconfirmed, error)
        if any(isinstance(error, NotConnected) for error in batch.failures.values()):
            self._drop()

    def _use(self, work: "Work") -> None:
        with self._connection() as client:
            client.run(work, self.timeout)

    def _connect(self) -> "Client":
        from bucketcast.targets.nats.client import Client  # noqa: PLC0415 - with the client library

        return Client(self.settings, needs_headers=self.shape.attributes is not None)


def _read_info(line: socket.socket) -> None:
    """Read the server's INFO, which precedes TLS.

    Raises:
        OSError: the server does not speak NATS, or offers no TLS.
    """
    info = b""
    while not info.endswith(b"\r\n"):
        if len(info) > _MAX_INFO or not (byte := line.recv(1)):
            raise OSError("the server closed the connection, or is not a NATS server")
        info += byte
    if not info.startswith(b"INFO "):
        raise OSError("is this a NATS server?")
    if b'"tls_required":true' not in info and b'"tls_available":true' not in info:
        raise OSError("the server offers no TLS")
