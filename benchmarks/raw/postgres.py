"""psycopg: COPY into a temporary table, then one guarded upsert, a transaction a batch."""

from collections.abc import Sequence

import psycopg

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.path(event), event.order[0], minio.records(event)) for event in events]


def writer(settings: dict[str, str]) -> Writer:
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
