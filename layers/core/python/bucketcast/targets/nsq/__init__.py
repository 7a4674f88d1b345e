"""NSQ: each event is a message of a topic, confirmed by nsqd.

Tested with nsqd 1.3.0. Options are MinIO's, and `auth_secret`, a CA and a client's certificate
beside them. The message is MinIO's body, `{"EventName", "Key", "Records": [event]}`, unless `shape`
is another. NSQ has no place for an id beside it: whoever has to drop repeats compares eventName,
key, versionId and sequencer of the record.

* Events go by TCP to the one nsqd that `nsqd_address` names. The topic is made when the first of
  them comes. It keeps events until it has a channel; from then on each channel gets every event.
* Events go in bulk, in parts that nsqd takes as a whole or not at all (`MPUB`). When the connection
  breaks, the parts that were not confirmed fail and come again. There is one connection, without
  heartbeats; where nsqd closed it between two batches it is replaced without a failure. Connecting
  takes 5 s at most, a batch 30 s more.
* An event larger than nsqd takes (`--max-msg-size`, 1 MiB unless changed) is rejected alone, with
  that reason. It lies in the dead-letter queue; raise the size before you send it from there.
* How safe a confirmed event is, is nsqd's matter. It keeps 10,000 messages of a topic in memory,
  and a crash loses those; `--mem-queue-size=0` writes each to disk, and `--sync-every=1` makes the
  disk keep it. A topic that ends in `#ephemeral` has no disk: what overflows its memory is lost,
  and the rest with its last channel.
* `tls` upgrades the connection at nsqd's ordinary port. An nsqd without `--tls-cert` cannot, and
  gets nothing. One with `--tls-client-auth-policy=require-verify` wants `client_cert` and
  `client_key`.
* `auth_secret` is for an nsqd with `--auth-http-address`. It needs the permission `publish` for the
  topic, beside a channel pattern that fits the empty name, such as `.*`. It is sent only to an nsqd
  that asks for it, and in plain sight unless `tls` is on. `bucketcast target ls` shows that a
  secret is wrong; that the permission is missing shows when the first event comes.

Not supported: nsqlookupd, which is for consumers, so each target writes to one nsqd; compression,
as a function's processor is what limits it, not its network.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.options import REFERENCE, Address, OnOff, Secret, option
from bucketcast.targets import base
from bucketcast.targets.nsq.outcome import TROUBLE, outcome
from bucketcast.targets.nsq.parts import Limits, commands

if TYPE_CHECKING:
    import ssl

    from bucketcast.targets.nsq.connection import Connection

CONNECT_SECONDS = 5.0
LONGEST_TOPIC = 64
EPHEMERAL = "#ephemeral"
_is_topic = re.compile(r"[.a-zA-Z0-9_-]+(?:#ephemeral)?").fullmatch


@dataclass(frozen=True, kw_only=True)
class NsqSettings(base.Common, base.Tls):
    """MinIO's options of `notify_nsq`, and what nsqd knows beside them."""

    nsqd_address: Address = option(
        "nsqd's TCP address, port 4150 unless given", example="localhost:4150"
    )
    topic: str = option("the topic that events go to", example="bucketevents")
    tls: OnOff = option("whether the connection is encrypted", default="off")
    tls_enable: OnOff = option("the same: tls as MinIO's guide spells it once", default="off")
    tls_skip_verify: OnOff = option(
        "take whatever certificate nsqd shows; for tests only", default="off"
    )
    auth_secret: Secret = option("what nsqd shows to its --auth-http-address", default="")

    @property
    def encrypted(self) -> bool:
        return bool(self.tls or self.tls_enable)


class Target(base.Target):
    """One topic of one nsqd; several threads may use it, one batch at a time."""

    arn_type: ClassVar[str] = "nsq"
    client: ClassVar[str] = "bucketcast.targets.nsq.connection"
    Settings = NsqSettings
    settings: NsqSettings

    def __init__(self, settings: NsqSettings) -> None:
        super().__init__(settings)
        parts = urlsplit(f"//{settings.nsqd_address}")
        self._host, self._port = parts.hostname or "localhost", parts.port or 4150
        self._lock = Lock()
        self._open: Connection | None = None
        self._context: ssl.SSLContext | None = None
        self._limits = Limits()

    @classmethod
    def check(cls, settings: NsqSettings) -> list[tuple[str, str, str]]:
        topic = settings.topic
        mistakes = [
            (key, "given while tls is off", "allowed is tls = on beside it")
            for key in ("cert_authority", "client_cert", "client_key")
            if getattr(settings, key) and not settings.encrypted
        ]
        if not topic.startswith(REFERENCE) and (len(topic) > LONGEST_TOPIC or not _is_topic(topic)):
            allowed = f"1 to {LONGEST_TOPIC} of a-z, A-Z, 0-9, '.', '_' and '-'"
            ending = f"{EPHEMERAL} may be the end"
            mistakes.append(("topic", f"found {topic!r}", f"allowed is {allowed}; {ending}"))
        return mistakes + super().check(settings)

    @classmethod
    def notes(cls, settings: NsqSettings) -> list[str]:
        notes = super().notes(settings)
        if settings.topic.endswith(EPHEMERAL):
            notes.append(
                f"topic ends in {EPHEMERAL}: nsqd never writes it to disk, and loses events that"
                " no consumer took in time"
            )
        if settings.tls_skip_verify and not settings.encrypted:
            notes.append("tls_skip_verify does nothing while tls is off")
        return notes

    @property
    def longest_send(self) -> float:
        return CONNECT_SECONDS + self.patience

    @property
    def where(self) -> str:
        return f"{self._host}:{self._port}, topic {self.settings.topic}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Publish the batch; nsqd works on one part of it while the next is made.

        Parts are confirmed in their order. After an error nsqd closes the connection: what it said
        of sizes is kept to, and what was not confirmed goes again; any other error fails the rest.
        """
        failures: dict[int, DeliveryError] = {}
        with self._lock:
            deadline, start = time.monotonic() + self.longest_send, 0
            while start < len(events):
                start, error = self._publish(events, start, failures, deadline)
                if error is None:
                    break
                lower = self._limits.lowered(str(error))
                self._drop()
                if lower is None:
                    reason = outcome(error, self.where)
                    failures.update(dict.fromkeys(range(start, len(events)), reason))
                    break
                self._limits = lower
        return failures

    def probe(self) -> None:
        """Connect, TLS and login included; whether the topic may be used, only publishing shows."""
        try:
            self._connect(time.monotonic() + self.longest_send).close()
        except TROUBLE as error:
            raise outcome(error, self.where) from None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _publish(
        self,
        events: Sequence[Event],
        start: int,
        failures: dict[int, DeliveryError],
        deadline: float,
    ) -> tuple[int, Exception | None]:
        """The place after the last event that is done with, and what ended it."""
        try:
            connection = self._connection(deadline)
            ends: list[int] = []
            with suppress(OSError):  # the answers say why
                for end, command in self._commands(events, start, failures):
                    ends.append(end)
                    connection.write(command, deadline)
            for end in ends:
                connection.confirm(deadline)
                start = end
        except TROUBLE as error:
            return start, error
        except BaseException:
            self._drop()  # an answer that nobody read must not be taken for that of the next part
            raise
        return len(events), None

    def _commands(
        self, events: Sequence[Event], start: int, failures: dict[int, DeliveryError]
    ) -> Iterator[tuple[int, bytes]]:
        return commands(
            self.settings.topic, events, start, self.shape.message, self._limits, failures
        )

    def _connection(self, deadline: float) -> "Connection":
        if self._open is not None and self._open.closed_by_peer:
            self._drop()
        if self._open is None:
            self._open = self._connect(deadline)
        return self._open

    def _connect(self, deadline: float) -> "Connection":
        from bucketcast import tls  # noqa: PLC0415 - only its own function needs ssl
        from bucketcast.targets.nsq.connection import connect  # noqa: PLC0415

        given = self.settings
        if given.encrypted and self._context is None:
            self._context = tls.context(given)
        soon = min(deadline, time.monotonic() + CONNECT_SECONDS)
        return connect((self._host, self._port), given.auth_secret, self._context, soon)

    def _drop(self) -> None:
        """Forget the limits too: an nsqd with others has been started anew."""
        self._limits = Limits()
        if self._open is not None:
            self._open.close()
            self._open = None
