"""PyMySQL: one guarded upsert of many rows, made of escaped literals, a transaction a batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets.mysql.address import parse

_HEAD = "INSERT INTO raw (key_name, seq, value) VALUES "
_TAIL = (
    " ON DUPLICATE KEY UPDATE value = IF(VALUES(seq) > seq, VALUES(value), value),"
    " seq = GREATEST(seq, VALUES(seq))"
)


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.path(event), event.order[0], minio.records(event).decode()) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    dsn = parse(settings["dsn_string"])
    connection = pymysql.connect(
        host=dsn.host,
        port=dsn.port,
        user=dsn.user,
        password=dsn.password,
        database=dsn.database,
        charset="utf8mb4",
        ssl_disabled=True,
    )
    connection.query(
        "CREATE TABLE IF NOT EXISTS raw (key_name VARCHAR(3072) NOT NULL, key_hash CHAR(64)"
        " GENERATED ALWAYS AS (SHA2(key_name, 256)) STORED UNIQUE, seq VARCHAR(64) NOT NULL,"
        " value JSON) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    )

    # Not executemany, which takes five times as long to put the same statement together.
    def write(batch: Batch) -> None:
        escape = connection.escape
        values = ",".join(f"({escape(key)},'{seq}',{escape(value)})" for key, seq, value in batch)
        connection.query(_HEAD + values + _TAIL)
        connection.commit()

    yield write
    connection.close()
