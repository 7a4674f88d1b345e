"""The same clients' own bulk writes of the same rows, with nothing of Bucketcast round them.

Each writer is opened once and then takes batches that were made ready before the clock starts:
what is timed is the client and the server. The writes are guarded by a sequencer in the simplest
way that is right for puts alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bucketcast.event import Event
from bucketcast.shapes import minio

Batch = Sequence[Any]
Writer = Callable[[Batch], None]

HEADERS = ("Content-Type: application/json", "Expect:")
GUARDED = """
for i = 1, #ARGV, 3 do
  local held = redis.call('HGET', KEYS[2], ARGV[i])
  if not held or held < ARGV[i + 1] then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
"""


def rows(kind: str, events: Sequence[Event]) -> Batch:
    """What the writer of a kind takes, made ready."""
    if kind == "webhook":
        return [(minio.log(event), [*HEADERS, f"webhook-id: {event.id}"]) for event in events]
    texts = [(minio.path(event), event.order[0], minio.records(event)) for event in events]
    return texts if kind == "postgres" else [part for row in texts for part in row]


def postgres(settings: dict[str, str]) -> Writer:
    import psycopg  # noqa: PLC0415 - one client a benchmark

    connection = psycopg.connect(settings["connection_string"])
    with connection.transaction():
        connection.execute(
            "create table if not exists raw (key text primary key, seq text, value jsonb)"
        )
        connection.execute(
            "create temp table staged (key text, seq text, value jsonb) on commit delete rows"
        )

    def write(batch: Batch) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy("copy staged from stdin") as copy:
                for key, seq, value in batch:
                    copy.write_row((key, seq, value.decode()))
            cursor.execute(
                "insert into raw select key, seq, value from staged on conflict (key) do update"
                " set seq = excluded.seq, value = excluded.value where raw.seq < excluded.seq"
            )

    return write


def redis(settings: dict[str, str]) -> Writer:
    import redis as client  # noqa: PLC0415 - one client a benchmark

    host, _, port = settings["address"].rpartition(":")
    server = client.Redis(
        host, int(port), username=settings.get("user"), password=settings.get("password")
    )
    script = server.register_script(GUARDED)
    keys = [settings["key"] + ":raw", settings["key"] + ":raw:order"]
    return lambda batch: script(keys, batch)


def webhook(settings: dict[str, str]) -> Writer:
    import pycurl  # noqa: PLC0415 - one client a benchmark

    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, 32)
    handles = []
    for _ in range(32):
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, settings["endpoint"])
        handle.setopt(pycurl.POST, 1)
        handles.append(handle)

    def write(batch: Batch) -> None:
        waiting, idle, busy = iter(batch), list(handles), 0
        while True:
            while idle and (request := next(waiting, None)) is not None:
                handle = idle.pop()
                handle.setopt(pycurl.POSTFIELDS, request[0])
                handle.setopt(pycurl.HTTPHEADER, request[1])
                multi.add_handle(handle)
                busy += 1
            if not busy:
                return
            multi.perform()
            _, done, broken = multi.info_read()
            for handle in done:
                if handle.getinfo(pycurl.RESPONSE_CODE) != 204:
                    raise RuntimeError("the receiver did not answer 204")
                multi.remove_handle(handle)
                idle.append(handle)
                busy -= 1
            if broken:
                raise RuntimeError(broken[0][2])
            if not done:
                multi.select(1.0)

    return write


WRITERS = {"postgres": postgres, "redis": redis, "webhook": webhook}
