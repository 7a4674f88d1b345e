"""Kafka 0.11 or newer, and what speaks its protocol: an event is a message of a topic.

A message has MinIO's key, `bucket/key`, MinIO's body, and two headers: `event-id`, the same for
every delivery of the same event, so that a reader can drop repeats, and `content-type`. With
`shape = cloudevents-binary` its attributes are headers `ce_…`, in UTF-8. Its partition is the one
that MinIO would choose, so that all events of an object stay in one and in their order, also beside
what MinIO wrote.

An event counts as delivered when all replicas in sync have it (`acks=all`), or with `ack = none`,
as with Ceph's `kafka-ack-level`, when it was sent (`acks=0`). The producer is idempotent, but not
with `none`: what it sends again by itself, because a leader moved or a connection broke, is written
once. What was not confirmed within 30 s is taken back from the client and comes again from the
queue; it may have been written all the same, and is then there twice with the same `event-id`.
After four minutes without events, and after any failure, the next batch opens a new connection.

The topic has to be there, or the brokers have to make it (`auto.create.topics.enable`); one that is
missing, or that the login may not write to, keeps its events waiting. The user needs WRITE and
DESCRIBE on the topic, before Kafka 2.8 IDEMPOTENT_WRITE on the cluster too, and CREATE where the
topic is to be made.

Events go to the brokers in parts of up to 1 MB, or in smaller ones, at last one by one, where they
take none of that size (`max.message.bytes`). An event that they do not take alone waits until they
do, or until its time is over; one of more than 64 MiB is rejected.

Logins are PLAIN and SCRAM. Kerberos, OAUTHBEARER and the signed logins of cloud providers are not
supported.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar, Literal

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.options import Csv, Duration, OnOff, Pem, Secret, SecretPem, option, unused
from bucketcast.shapes import minio
from bucketcast.targets import base
from bucketcast.targets.kafka import checks
from bucketcast.targets.kafka.client import LARGEST_EVENT
from bucketcast.targets.kafka.errors import TooLargeError
from bucketcast.targets.kafka.link import CLOSE_SECONDS, Link, Message
from bucketcast.targets.kafka.probe import look

BATCH_BYTES = (1_000_000, 125_000, 16_000, 1)
"""How much goes to the brokers as one: less where they refuse it, at last each event alone."""
IDLE_SECONDS = 240.0
"""Routers between forget a silent connection after 350 s, or less, and tell nobody."""


@dataclass(frozen=True, kw_only=True)
class KafkaSettings(base.Common):
    """MinIO's options of `notify_kafka`, and `cert_authority`."""

    brokers: Csv = option(
        "brokers to ask for the others, port 9092 unless given",
        example="localhost:9092,localhost:9093",
    )
    topic: str = option("the topic that events go to", example="bucketevents")
    sasl: OnOff = option("whether to log in with user and password", default="off")
    sasl_username: str = option("the user, for sasl = on", default="")
    sasl_password: Secret = option("the password of the user", default="")
    sasl_mechanism: Literal["plain", "sha256", "sha512", "scram-sha-256", "scram-sha-512"] = option(
        "how the password is shown: plain, or SCRAM by its short or its full name", default="plain"
    )
    tls: OnOff = option("whether the connection is encrypted", default="off")
    tls_skip_verify: OnOff = option(
        "take whatever certificate the brokers show; for tests only", default="off"
    )
    tls_client_auth: int = unused(
        "the brokers ask for a client's certificate, and get client_tls_cert", default="0"
    )
    cert_authority: Pem = option("the CA that signed the brokers' certificates", default="")
    client_tls_cert: Pem = option("this client's certificate, for mutual TLS", default="")
    client_tls_key: SecretPem = option("the private key of client_tls_cert", default="")
    version: str = unused(
        "each broker is asked for its version, which is 0.11.0.0 or newer",
        default="",
        example="2.2.0",
    )
    compression_codec: Literal["none", "gzip", "snappy", "lz4", "zstd"] = option(
        "how batches are compressed", default="none", variable="PRODUCER_COMPRESSION_CODEC"
    )
    compression_level: int = option(
        "gzip 0 to 9, lz4 and zstd 0 to 12; the codec's own choice unless given",
        default="",
        variable="PRODUCER_COMPRESSION_LEVEL",
    )
    ack: Literal["broker", "none"] = option(
        "when an event counts as delivered: when all replicas in sync have it, or (none) when it "
        "was sent, whatever becomes of it",
        default="broker",
    )
    batch_size: int = unused("all events that came together are sent together", default="0")
    batch_commit_timeout: Duration = unused("the target's SQS queue keeps what waits", default="0s")


class Target(base.Target):
    """One topic; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "kafka"
    client: ClassVar[str] = "confluent_kafka"
    attributes_prefix: ClassVar[str | None] = "ce_"
    Settings = KafkaSettings
    settings: KafkaSettings

    def __init__(self, settings: KafkaSettings) -> None:
        super().__init__(settings)
        self._lock = Lock()
        self._link: Link | None = None
        self._used = 0.0

    @classmethod
    def check(cls, settings: KafkaSettings) -> list[tuple[str, str, str]]:
        return [*checks.mistakes(settings), *super().check(settings)]

    @property
    def longest_send(self) -> float:
        return self.patience + 2 * CLOSE_SECONDS

    @property
    def where(self) -> str:
        return f"{','.join(self.settings.brokers)}, topic {self.settings.topic}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Write the batch; what the brokers find too large together, again in smaller parts."""
        failures: dict[int, DeliveryError] = {}
        places = list(range(len(events)))
        deadline = time.monotonic() + self.patience
        with self._lock:
            for batch_bytes in BATCH_BYTES:
                if places:
                    refused = self._write(events, places, batch_bytes, deadline)
                    failures = {p: e for p, e in failures.items() if p not in places} | refused
                    places = [p for p, e in refused.items() if isinstance(e, TooLargeError)]
                if len(places) < 2:  # noqa: PLR2004 - it was alone, and was too large all the same
                    break
        return failures

    def headers(self, event: Event) -> dict[str, str]:
        found = {"event-id": event.id, "content-type": self.shape.content_type}
        if self.shape.attributes:
            found |= super().headers(event)
        return found

    def probe(self) -> None:
        look(self.settings, self.patience, self.where)

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _write(
        self, events: Sequence[Event], places: Sequence[int], batch_bytes: int, deadline: float
    ) -> dict[int, DeliveryError]:
        """What of these places was not written."""
        failures: dict[int, DeliveryError] = {}
        messages = self._messages(events, places, failures)
        try:
            with self._connected(batch_bytes, deadline) as link:
                refused = link.send(messages, deadline)
        except DeliveryError as error:
            return dict.fromkeys(places, error) | failures
        if refused:
            self._drop()  # with all that it may still remember of them
        return failures | refused

    def _messages(
        self, events: Sequence[Event], places: Iterable[int], failures: dict[int, DeliveryError]
    ) -> Iterator[Message]:
        for place in places:
            event = events[place]
            try:
                key, value = minio.path(event).encode(), self.shape.message(event)
            except UnicodeEncodeError as error:
                failures[place] = Rejected(f"its text is not Unicode: {error}")
                continue
            if len(value) > LARGEST_EVENT:
                size = f"the event takes {len(value)} bytes"
                failures[place] = Rejected(f"{size}; at most {LARGEST_EVENT} go to Kafka")
                continue
            yield Message(place, key, value, list(self.headers(event).items()))

    @contextmanager
    def _connected(self, batch_bytes: int, deadline: float) -> Iterator[Link]:
        """The link, which has brokers; it is dropped where something goes wrong with it."""
        # By the clock on the wall: a function that is frozen does not see the other one move.
        idle = time.time() - self._used > IDLE_SECONDS
        if self._link is not None and (idle or self._link.batch_bytes != batch_bytes):
            self._drop()
        try:
            if self._link is None:
                self._link = Link(self.settings, self.patience, batch_bytes, self.where)
                self._link.connect(deadline)
            yield self._link
        except BaseException:
            self._drop()
            raise
        self._used = time.time()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
