"""pg8000: COPY into a temporary table, then one guarded upsert, a transaction a batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pg8000.native import Connection

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets.postgres.address import parse


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.path(event), event.order[0], minio.records(event)) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    login = parse(settings["connection_string"])
    connection = Connection(
        login["user"],
        host=login["host"],
        port=int(login["port"]),
        password=login["password"],
        database=login["dbname"],
        ssl_context=False,
    )
    connection.run("create table if not exists raw (key text primary key, seq text, value jsonb)")
    connection.run(
        "create temp table staged (key text, seq text, value jsonb) on commit delete rows"
    )

    def write(batch: Batch) -> None:
        lines = (f"{key}\t{seq}\t".encode() + escape(value) + b"\n" for key, seq, value in batch)
        connection.run("begin")
        connection.run("copy staged from stdin", stream=[b"".join(lines)])
        connection.run(
            "insert into raw select key, seq, value from staged on conflict (key) do update"
            " set seq = excluded.seq, value = excluded.value where raw.seq < excluded.seq"
        )
        connection.run("commit")

    yield write
    connection.close()


def escape(json: bytes) -> bytes:
    return json.replace(b"\\", rb"\\")
