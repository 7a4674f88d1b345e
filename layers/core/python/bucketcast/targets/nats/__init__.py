r"""NATS: each event is one message on a subject, by core NATS, JetStream or NATS Streaming.

The message is MinIO's JSON body, and its header `Nats-Msg-Id` is the same for every delivery of the
same event, and another for each copy that a named rule sends; `Content-Type` stands beside it. With
`shape = "cloudevents-binary"` the attributes are headers `ce-…`, percent-encoded.

What it is worth that an event was delivered is the choice between three ways:

* core, unless another is switched on: the server has the message and hands it to whoever listens
  just then. Nobody else will ever see it. A stream that has the subject keeps it, and drops
  repeats by their id.
* `jetstream = "on"`: the stream that has the subject has stored the message. It must be there
  already, such as by `nats stream add events --subjects bucketevents`; until it is, events wait in
  the target's queue. It drops repeats that come within its duplicate window, by their id.
* `streaming = "on"`: a NATS Streaming server has stored the message in the channel of the subject's
  name. Its messages have no headers. It has had no support since June 2023; see the end for the
  way to JetStream.

Tested with nats-server 2.15 and NATS Streaming 0.25. A server that takes no headers gets none, as
those before 2.2; it has no JetStream either.

Log in with `username` and `password`, `token`, `nkey_seed` or `user_credentials`: with one of them.
The user needs to publish to the subject; for JetStream also to subscribe to `_INBOX.>`, by which
messages are acknowledged; for Streaming to publish to `_STAN.>` and `_INBOX.>` instead, and to
subscribe to `_INBOX.>`. A user who may publish to `$JS.API.STREAM.NAMES` too lets
`bucketcast target ls` see that the stream is missing.

`tls`, `tls_handshake_first`, `cert_authority` and `client_cert` each ask for an encrypted
connection. A server that does not encrypt is refused then, before it is told anything.

One connection a function is kept, and up to 500 messages are on their way without an
acknowledgement. Connecting takes 5 s at most; what of a batch is not confirmed 30 s after it was
begun is sent again. A connection that was idle is tried before it is used, and replaced by another
to the same `address` where it has ended: servers of a cluster need a name that stands for all.

An event that is too large for `max_payload` of the server or `max_msg_size` of the stream waits for
these to be raised, as all does that a change of the server would cure. Above 1 MB, the usual limit,
to which no event of S3 comes near, it is `Rejected`.

From NATS Streaming to JetStream: run a nats-server with JetStream beside the old server, and make a
stream of the subject. Let the readers read the stream as well as the channel. Then change the
target's `address`, take out its `streaming` keys and set `jetstream = "on"`: what waits in its
queue goes to the stream. Once the readers have seen the last of the channel, take the old server
down.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from bucketcast.errors import DeliveryError, NotConnected
from bucketcast.event import Event
from bucketcast.options import (
    REFERENCE,
    Address,
    OnOff,
    Seconds,
    Secret,
    SecretPem,
    SecretSeed,
    option,
)
from bucketcast.shapes.cloudevents import in_header
from bucketcast.targets import base
from bucketcast.targets.nats import login
from bucketcast.targets.nats.batch import Batch

if TYPE_CHECKING:
    from bucketcast.targets.nats.connection import Connection
    from bucketcast.targets.nats.core import Core
    from bucketcast.targets.nats.link import Link, Work

Mistake = tuple[str, str, str]
STREAMING_KEYS = (
    "streaming_cluster_id",
    "streaming_async",
    "streaming_max_pub_acks_in_flight",
)
STREAMING_IN_FLIGHT = 500
_SUBJECT = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*")
_CLUSTER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class NatsSettings(base.Common, base.Tls):
    """MinIO's options of `notify_nats`."""

    address: Address = option("the server, port 4222 unless given", example="localhost:4222")
    subject: str = option("where events are published", example="bucketevents")
    username: str = option("the user to log in as", default="")
    password: Secret = option("the password of username", default="")
    token: Secret = option("the token to log in with", default="")
    nkey_seed: SecretSeed = option(
        "the seed of the user's NKEY, or the path of its file", default=""
    )
    user_credentials: SecretPem = option(
        "what stands in the user's creds file, or the file's path: a JWT and its seed", default=""
    )
    tls: OnOff = option("whether the connection is encrypted", default="off")
    tls_skip_verify: OnOff = option(
        "take whatever certificate the server shows; for tests only", default="off"
    )
    tls_handshake_first: OnOff = option(
        "encrypt before the server says a word, as its handshake_first demands", default="off"
    )
    ping_interval: Seconds = option(
        "how often the server is asked for a sign of life while it is waited for; after two that "
        "it did not answer it is given up; 0 for never",
        default="0",
        example="10s",
    )
    jetstream: OnOff = option("whether a stream acknowledges each message", default="off")
    streaming: OnOff = option("whether the server is a NATS Streaming server", default="off")
    streaming_enable: OnOff = option("streaming, as MinIO's guide calls it too", default="off")
    streaming_cluster_id: str = option(
        "the cluster's id, needed for streaming", default="", example="test-cluster"
    )
    streaming_async: OnOff = option(
        "whether messages are sent before the last one is acknowledged", default="off"
    )
    streaming_max_pub_acks_in_flight: int = option(
        f"how many of them at a time; 0 for {STREAMING_IN_FLIGHT}", default="0", example="10"
    )

    @property
    def encrypted(self) -> bool:
        """Any of these asks for it, as in MinIO."""
        return bool(self.tls or self.tls_handshake_first or self.cert_authority or self.client_cert)

    @property
    def streams(self) -> bool:
        return bool(self.streaming or self.streaming_enable)


class Target(base.Target):
    """One subject of one server; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "nats"
    client: ClassVar[str] = "nats"
    attributes_prefix = "ce-"
    Settings = NatsSettings
    settings: NatsSettings

    def __init__(self, settings: NatsSettings) -> None:
        super().__init__(settings)
        parts = urlsplit(f"//{settings.address}")
        host = parts.hostname or "localhost"
        self._address = f"{f'[{host}]' if ':' in host else host}:{parts.port or 4222}"
        self._lock = Lock()
        self._link: Link | None = None

    @classmethod
    def check(cls, settings: NatsSettings) -> list[tuple[str, str, str]]:
        return [*super().check(settings), *_about_the_login(settings), *_mistakes(settings)]

    @classmethod
    def notes(cls, settings: NatsSettings) -> list[str]:
        return [*super().notes(settings), *_about_streaming(settings)]

    @property
    def where(self) -> str:
        return f"{self._address}, subject {self.settings.subject}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        batch = Batch(events, self.body, self.headers)
        if events:
            with self._lock:
                self._deliver(batch)
        return batch.failures

    def headers(self, event: Event) -> dict[str, str]:
        """None where NATS Streaming would lose them."""
        if self.settings.streams:
            return {}
        found = {"Nats-Msg-Id": event.copy_id, "Content-Type": self.shape.content_type}
        if self.shape.attributes:
            for name, text in super().headers(event).items():
                found[name] = in_header(text)
            # NATS's binding is the one that has it among the attributes.
            found["ce-datacontenttype"] = self.shape.content_type
        return found

    def probe(self) -> None:
        with self._lock:
            self._use(lambda way: way.probe())

    def close(self) -> None:
        with self._lock:
            if self._link is not None:
                self._link.close()
                self._link = None

    def _deliver(self, batch: Batch) -> None:
        """Send; what was not confirmed when the connection failed shares its failure."""
        try:
            self._use(lambda way: way.send(batch))
        except DeliveryError as error:
            batch.failures.update(dict.fromkeys(batch.unconfirmed, error))
        if any(isinstance(each, NotConnected) for each in batch.failures.values()):
            self._drop()

    def _use(self, work: "Work") -> None:
        """Do that over a connection that is alive; after a failure the next use makes another."""
        from bucketcast.targets.nats.link import Link  # noqa: PLC0415 - with the client

        try:
            if self._link is not None and not self._link.is_alive():
                self._drop()
            if self._link is None:
                self._link = Link(self.settings, self._address, self._way)
            self._link.run(work, self.patience)
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._link is not None:
            self._link.end()
            self._link = None

    def _way(self, connection: "Connection") -> "Core":
        """Only the module of the way that was chosen is loaded."""
        given = self.settings
        if given.streams:
            from bucketcast.targets.nats.streaming import Streaming  # noqa: PLC0415

            most = given.streaming_max_pub_acks_in_flight or STREAMING_IN_FLIGHT
            cluster, most = given.streaming_cluster_id, most if given.streaming_async else 1
            return Streaming(connection, given.subject, cluster, most)
        if given.jetstream:
            from bucketcast.targets.nats.jetstream import JetStream  # noqa: PLC0415

            return JetStream(connection, given.subject)
        from bucketcast.targets.nats.core import Core  # noqa: PLC0415

        binary = self.shape.attributes is not None
        return Core(connection, given.subject, needs_headers=binary)


def _about_the_login(given: NatsSettings) -> Iterator[Mistake]:
    ways = [key for key in login.WAYS if getattr(given, key)]
    for key in ways[1:]:
        yield key, f"given beside {ways[0]}", "allowed is one way to log in"
    if bool(given.username) != bool(given.password):
        missing, beside = ("password", "username") if given.username else ("username", "password")
        yield missing, "missing", f"it is needed beside {beside}"
    text = given.user_credentials.reveal()
    if text and not text.startswith(REFERENCE):
        try:
            login.credentials(text)
        except ValueError as error:
            yield "user_credentials", "found ***", f"allowed is {error}"


def _mistakes(given: NatsSettings) -> Iterator[Mistake]:
    if given.tls_skip_verify and not given.encrypted:
        yield "tls_skip_verify", "given while tls is off", "allowed is tls = on beside it"
    for key, form, allowed in (
        ("subject", _SUBJECT, "words joined by dots, without spaces and the wildcards * and >"),
        ("streaming_cluster_id", _CLUSTER, "A-Z, a-z, 0-9, '_' and '-'"),
    ):
        text = getattr(given, key)
        if text and not text.startswith(REFERENCE) and not form.fullmatch(text):
            yield key, f"found {text!r}", f"allowed is {allowed}"
    if given.streams and not given.streaming_cluster_id:
        yield "streaming_cluster_id", "missing", "streaming needs the id of the server's cluster"
    if given.streams and given.shape == "cloudevents-binary":
        allowed = "allowed is cloudevents, which needs none"
        yield "shape", f"found '{given.shape}', which needs headers", allowed
    if given.streams and given.jetstream:
        yield (
            "jetstream",
            "found on beside streaming",
            "allowed is one of them: they are two servers",
        )


def _about_streaming(given: NatsSettings) -> Iterator[str]:
    if given.streams:
        yield (
            "NATS Streaming has had no support since June 2023: set jetstream = on instead of "
            "streaming, with a stream that has the subject (docs/targets/nats.md says how)"
        )
        if given.streaming_max_pub_acks_in_flight and not given.streaming_async:
            yield "streaming_max_pub_acks_in_flight does nothing without streaming_async = on"
    elif idle := [key for key in STREAMING_KEYS if getattr(given, key)]:
        yield f"{', '.join(idle)}: without streaming = on they do nothing"
