r"""Redis 5 or newer, or Valkey: a hash that mirrors the bucket, or a list that grows by each event.

Options are MinIO's, and `tls` with `tls_skip_verify`. Connecting takes 5 s at
most, a command 30 s. What is under `key` must be of the format's type, or nothing: it is made.

* `namespace`: the hash `key`, a field `bucket/key` for each object in the bucket, the value
  `{"Records": [event]}`. Any order, split and repetition of deliveries, over any number of
  connections, ends in the same fields (`bucketcast.namespace` has the rules); fields that MinIO
  wrote are guarded by their own sequencer and go on being used. What it takes stands beside the
  hash, under names that begin with the key: `<key>:guard`, a hash, for keys that saw a removal or
  an event that leaves the object as it is, such as tagging; `<key>:guard:aged`, a sorted set of
  these by when they came: 104 days later they are forgotten, some with each batch; and
  `<key>:guard:sources`, a hash that names for each bucket the source that wrote of it first, Amazon
  S3, MinIO or Ceph. What another source says of a bucket of that name waits, with a reason: their
  sequencers cannot be compared.
* `access`: the list `key`, an item `["2026-01-02T03:04:05.678Z", {"Records": [event]}]` for each
  event, only ever appended to; a repeated delivery is a second item.

Fields are written by a script, some hundred events a call. What a call left undone, should the
server end in the middle of it, is failed as a whole and comes again; a repetition changes nothing.
An event that the script cannot take is rejected alone.

The user needs `~<key>*` and `+eval +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem
+zrangebyscore` for `namespace`, or `+rpush +ping +type` for `access`; `bucketcast reconcile` reads
the hash by `+hscan` too. On a Redis Cluster the key must hold a tag, such as `{events}`, so that
all of its names share a slot, and the address must be that slot's server or a proxy.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from bucketcast.claims import Claims
from bucketcast.errors import DeliveryError, Retryable
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.options import Address, OnOff, Secret, option
from bucketcast.shapes.minio import encode
from bucketcast.targets import base
from bucketcast.targets.redis import access, held, mirror
from bucketcast.targets.redis.calls import Fates, exchanged
from bucketcast.targets.redis.errors import cure, outcome
from bucketcast.targets.redis.tls import CONNECT_SECONDS, encrypted

if TYPE_CHECKING:
    import redis


@dataclass(frozen=True, kw_only=True)
class RedisSettings(base.Common, base.Tls):
    """MinIO's options of `notify_redis`, and TLS, which MinIO has not."""

    address: Address = option("the server, port 6379 unless given", example="localhost:6379")
    key: str = option("the hash or list that events go to", example="bucketevents")
    format: Literal["namespace", "access"] = option(
        "namespace: a hash that mirrors the bucket; access: a list of all events",
        default="namespace",
    )
    user: str = option("the ACL user; the default user unless given", default="")
    password: Secret = option("the password of the user", default="")
    tls: OnOff = option("whether the connection is encrypted", default="off")
    tls_skip_verify: OnOff = option(
        "take whatever certificate the server shows; for tests only", default="off"
    )


class Target(base.Mirror):
    """One hash or list on one server; a connection for each thread that sends."""

    arn_type: ClassVar[str] = "redis"
    client: ClassVar[str] = "redis"
    Settings = RedisSettings
    settings: RedisSettings

    def __init__(self, settings: RedisSettings) -> None:
        super().__init__(settings)
        parts = urlsplit(f"//{settings.address}")
        self._host, self._port = parts.hostname or "localhost", parts.port or 6379
        self._type = "hash" if settings.format == "namespace" else "list"
        self._claims = Claims(self.where, f"its field in the hash {mirror.sources(settings.key)}")
        self._pool: redis.ConnectionPool | None = None
        self._lock = Lock()

    @classmethod
    def check(cls, settings: RedisSettings) -> list[tuple[str, str, str]]:
        given = settings
        mistakes = [
            (key, "given while tls is off", "allowed is tls = on beside it")
            for key in ("cert_authority", "client_cert", "client_key", "tls_skip_verify")
            if getattr(given, key) and not given.tls
        ]
        mistakes += super().check(given)
        if given.user and not given.password:
            mistakes.append(("password", "missing", "a user needs a password"))
        return mistakes

    @property
    def where(self) -> str:
        return f"{self._host}:{self._port}, {self._type} {self.settings.key}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        """Write the batch; the server works on one part of it while the next is made.

        A part that the server refuses fails alone, and so does an event that its script fails at;
        when the connection breaks, all that was not confirmed fails.
        """
        from redis.exceptions import RedisError  # noqa: PLC0415

        fates = Fates(len(events))
        try:
            with self._connection() as connection:
                if self._type == "hash":
                    self._mirror(connection, events, fates)
                else:
                    self._append(connection, events, fates)
        except (RedisError, OSError) as error:
            fates.fail(dict.fromkeys(fates.open, self._translated(error)))
        return fates.failures

    def body(self, event: Event) -> bytes:
        value = self.shape.value(event)
        return value if self._type == "hash" else b"[%b,%b]" % (encode(event.time), value)

    def probe(self) -> None:
        from redis.exceptions import RedisError  # noqa: PLC0415

        try:
            with self._connection() as connection:
                for command in (("PING",), ("TYPE", self.settings.key)):
                    connection.send_command(*command)  # type: ignore[no-untyped-call]
                connection.read_response()
                found = str(connection.read_response(), "utf-8")
        except (RedisError, OSError) as error:
            raise self._translated(error) from None
        if found not in ("none", self._type):
            raise Retryable(f"{self.where}: {cure('WRONGTYPE', self.settings, self._type)}")

    def shares(self, count: int) -> list[str]:  # noqa: ARG002 - a hash has but one cursor
        self.probe()
        return ["{}"]

    def held(self, share: str, prefix: str) -> Iterator[Held]:  # noqa: ARG002
        with self._asking() as ask:
            yield from held.rows(ask, self.settings.key, prefix)

    def known(self, paths: Sequence[str]) -> dict[str, Known]:
        with self._asking() as ask:
            return held.of(ask, self.settings.key, paths)

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.disconnect()
        self._claims.forget()

    def _mirror(
        self, connection: "redis.Connection", events: Sequence[Event], fates: Fates
    ) -> None:
        def claim(wanted: Mapping[str, str]) -> dict[str, str]:
            connection.send_command(*mirror.claim(key, wanted))  # type: ignore[no-untyped-call]
            whose = (str(each, "utf-8") for each in connection.read_response())
            return dict(zip(wanted, whose, strict=True))

        key = self.settings.key
        fates.fail(self._claims.refused(events, claim))
        delivery = mirror.Delivery(events, fates, key, int(time.time()), self._translated)
        delivery.run(partial(exchanged, connection))

    def _append(
        self, connection: "redis.Connection", events: Sequence[Event], fates: Fates
    ) -> None:
        calls = access.calls(self.settings.key, events, self.body, fates)
        for places, answer in exchanged(connection, calls):
            if isinstance(answer, Exception):
                fates.fail(dict.fromkeys(places, self._translated(answer)))
            fates.arrived(places)

    @contextmanager
    def _asking(self) -> Iterator[Callable[..., Any]]:
        """A way to say a command and get its answer; what goes wrong is said in our words."""
        from redis.exceptions import RedisError  # noqa: PLC0415

        def ask(*command: str | bytes | int) -> Any:
            connection.send_command(*command)  # type: ignore[no-untyped-call]
            return connection.read_response()

        try:
            with self._connection() as connection:
                yield ask
        except (RedisError, OSError) as error:
            raise self._translated(error) from None

    @contextmanager
    def _connection(self) -> Iterator["redis.Connection"]:
        pool = self._connections()
        connection = pool.get_connection()
        try:
            yield connection
        except BaseException:
            # An answer that nobody read must not be taken for that of the next command.
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        finally:
            pool.release(connection)

    def _connections(self) -> "redis.ConnectionPool":
        """Threads share the pool; a pool in use by others is left to them by `close`."""
        from redis import Connection, ConnectionPool  # noqa: PLC0415
        from redis.driver_info import DriverInfo  # noqa: PLC0415

        given = self.settings
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    connection_class=encrypted(given, self.patience) if given.tls else Connection,
                    host=self._host,
                    port=self._port,
                    # MinIO logs in with a user only where there is a password.
                    username=(given.user or None) if given.password else None,
                    password=given.password.reveal() or None,
                    socket_connect_timeout=CONNECT_SECONDS,
                    socket_timeout=self.patience,
                    protocol=2,
                    driver_info=DriverInfo("bucketcast", None),
                )
            return self._pool

    def _translated(self, error: Exception) -> DeliveryError:
        return outcome(error, self.settings, self._type, self.where)
