"""Redis 5 or newer, or Valkey: a hash that mirrors the bucket, or a list with an item per event.

`key` is created on first use; an existing key must have the type that `format` needs:

* `namespace`: the hash `key`, with a field `bucket/key` for each object in the bucket and the value
  `{"Records": [event]}`, whatever the order, batching or repetition of deliveries, and the number
  of connections. Fields that MinIO wrote are kept, and ordered by their own sequencer. The hash
  `<key>:guard` keeps removals, and events that do not change the object, such as tagging; the
  sorted set `<key>:guard:aged` has their times. Both forget them after 104 days.
* `access`: the list `key`, with an item `["2026-01-02T03:04:05.678Z", {"Records": [event]}]` for
  each event. Items are only appended; a repeated delivery adds a second item.

A Lua script writes up to 250 events per call. If the server fails during a call, all events of the
call are retried. An event that the script cannot process is rejected; the others are written. The
connect timeout is 5 s, the command timeout 30 s.

The user needs `~<key>*` and `+eval +evalsha +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem
+zrangebyscore` for `namespace`, or `+rpush +ping +type` for `access`. `bucketcast reconcile` also
needs `+hscan`, and with `+multi +discard` `bucketcast doctor` finds missing permissions. On a Redis
Cluster, `key` must contain a hash tag, such as `{events}`, so that all keys share a slot, and
`address` must be the node of that slot, or a proxy.

With `auth = iam`, the function's role logs in to
[Amazon ElastiCache or MemoryDB](../aws/elasticache.md).
"""

import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

from bucketcast.errors import BreakerOpen, DeliveryError, NotConnected
from bucketcast.event import Event
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.shapes.minio import encode
from bucketcast.targets import base
from bucketcast.targets.base import iam, tls
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.base.mirror import SWEEP_SECONDS, Mirror
from bucketcast.targets.redis import mirror, state
from bucketcast.targets.redis.answers import ANSWERS
from bucketcast.targets.redis.client import EVENTS_PER_CALL, Client, Command
from bucketcast.targets.redis.dry_run import find_refused_command
from bucketcast.targets.redis.settings import RedisSettings

REQUIRED_RIGHTS = {
    "hash": "+eval +evalsha +ping +type +hget +hmget +hset +hdel +hlen +zadd +zrem +zrangebyscore",
    "list": "+rpush +ping +type",
}


class Target(base.Connected[Client], Mirror):
    """One hash or list on one server; threads take turns at one connection."""

    arn_type: ClassVar[str] = "redis"
    client: ClassVar[str] = "redis"
    answers = ANSWERS
    Settings = RedisSettings
    settings: RedisSettings

    @property
    def where(self) -> str:
        settings = self.settings
        return f"{settings.server}, {settings.type} {settings.key}"

    def _deliver(self, events: Sequence[Event]) -> base.Failures:
        """Write the batch in parts; the server executes a part while the next one is built.

        A refused part fails alone, and so does an event that makes the script fail. If the
        connection breaks, all unconfirmed events fail.
        """
        result = BatchResult(len(events))
        try:
            with self._connection() as connection:
                if self.keeps_rows:
                    key, now = self.settings.key, int(time.time())
                    delivery = mirror.Delivery(events, result, key, now, self._answer)
                    delivery.run(connection.pipeline)
                else:
                    self._append(connection, events, result)
        except DeliveryError as error:
            result.fail(result.unconfirmed, error)
        large = (error for error in result.failures.values() if isinstance(error, TooLargeError))
        if reason := next(large, None):
            if len(result.failures) == len(events):  # none was taken: it is halved
                raise reason
            again = (TooLargeError, NotConnected)  # the part, and what the closed connection lost
            left = [n for n, error in result.failures.items() if isinstance(error, again)]
            result.fail(left, BreakerOpen.behind(reason))  # sent again now, without what was taken
        return result.failures

    def body(self, event: Event) -> bytes:
        value = self.shape.value(event)
        return value if self.keeps_rows else b"[%b,%b]" % (encode(event.time), value)

    def endpoints(self) -> list[base.Endpoint]:
        context = tls.context(self.settings) if self.settings.tls else None
        return [self.settings.server._replace(context=context)]

    def login(self) -> None:
        with self._connection() as connection:
            connection.execute("PING")

    def probe(self) -> None:
        from redis.exceptions import ResponseError  # noqa: PLC0415 - carried by what delivers

        with self._connection() as connection:
            connection.execute("PING")
            type_ = str(connection.execute("TYPE", self.settings.key), "utf-8")
            if error := find_refused_command(connection.execute, self.settings):
                raise self._answer(error)
        if type_ not in ("none", self.settings.type):
            raise self._answer(ResponseError("WRONGTYPE"))

    def partitions(self, count: int) -> list[str]:  # noqa: ARG002 - a hash has one cursor only
        self.probe()
        return ["{}"]

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:  # noqa: ARG002
        with self._connection() as connection:
            yield from state.read_rows(connection.execute, self.settings.key, prefix)

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        with self._connection() as connection:
            return state.read_states(connection.execute, self.settings.key, paths)

    def _sweep(self, limit: int) -> int:
        with self._connection() as connection:
            call = mirror.sweep_call(self.settings.key, int(time.time()), limit)
            return int(connection.execute(*call, timeout=SWEEP_SECONDS))

    def _append(self, connection: Client, events: Sequence[Event], result: BatchResult) -> None:
        starts = range(0, len(events), EVENTS_PER_CALL)
        parts = [range(len(events))[start : start + EVENTS_PER_CALL] for start in starts]
        calls: Iterator[tuple[range, Command]] = (
            (part, ("RPUSH", self.settings.key, *(self.body(events[index]) for index in part)))
            for part in parts
        )
        for indexes, reply in connection.pipeline(calls):
            if isinstance(reply, Exception):
                result.fail(indexes, self._answer(reply))
            result.confirm(indexes)

    def _connect(self) -> Client:
        return Client(self.settings, self.timeout)

    def _raised(self) -> tuple[type[BaseException], ...]:
        from redis.exceptions import RedisError  # noqa: PLC0415 - carried by functions that deliver

        return RedisError, OSError

    def _hints(self) -> dict[str, str]:
        settings = self.settings
        return {
            "key": settings.key,
            "type": settings.type,
            "needs": REQUIRED_RIGHTS[settings.type],
            "tls": "on" if settings.tls else "off",
            "login": iam.HINT if settings.by_iam else "see user and password",
        }
