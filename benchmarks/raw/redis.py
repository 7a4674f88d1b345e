"""redis-py: the simplest guarded script, a call a batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import redis

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio

GUARDED = """
for i = 1, #ARGV, 3 do
  local held = redis.call('HGET', KEYS[2], ARGV[i])
  if not held or held < ARGV[i + 1] then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
"""


def rows(events: Sequence[Event]) -> Batch:
    return [
        part
        for event in events
        for part in (minio.path(event), event.order[0], minio.records(event))
    ]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    host, _, port = settings["address"].rpartition(":")
    server = redis.Redis(
        host, int(port), username=settings.get("user"), password=settings.get("password")
    )
    script = server.register_script(GUARDED)
    keys = [settings["key"] + ":raw", settings["key"] + ":raw:order"]
    yield lambda batch: script(keys, batch)
    server.close()
