"""Print what the PostgreSQL target writes, as it comes: time, name, bucket/key, size in bytes.

    pip install 'psycopg[binary]'
    export PGUSER=postgres PGPASSWORD=…
    python examples/consumers/postgres.py 'host=localhost dbname=minio_events' bucketevents

A mirror's rows (format `namespace`) are printed when they appear, change or are deleted, a log's
(`access`) when they are appended. If the table does not exist yet, it waits for it. It reads the
whole table once a second, which suits small tables; for large ones, use a trigger with NOTIFY.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

import psycopg
from psycopg import sql

MIRROR = "select key, value -> 'Records' -> 0 from {}"
LOG = "select ctid::text, event_data -> 'Records' -> 0 from {}"


def changes(connection: psycopg.Connection, table: str) -> Iterator[str]:
    """Yield a line for each new, changed or deleted row, forever."""
    name = sql.Identifier(table)
    exists = sql.SQL("select to_regclass({})").format(name.as_string(connection))
    if connection.execute(exists).fetchone() == (None,):
        print(f"waiting for {table}", file=sys.stderr, flush=True)
    while connection.execute(exists).fetchone() == (None,):
        time.sleep(1)
    columns = connection.execute(sql.SQL("select * from {} limit 0").format(name)).description
    mirrors = columns is not None and columns[0].name == "key"
    query = sql.SQL(MIRROR if mirrors else LOG).format(name)
    seen: dict[str, Any] = {}
    while True:
        rows: dict[str, Any] = dict(connection.execute(query).fetchall())
        yield from (line(rows[row]) for row in rows if rows[row] != seen.get(row))
        yield from (f"{'gone':<66}  {row}" for row in seen.keys() - rows.keys())
        seen = rows
        time.sleep(1)


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Print until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the PostgreSQL target writes.")
    parser.add_argument("login", help="libpq's connection string, such as 'host=localhost …'")
    parser.add_argument("table", help="the target's table, as the server has it (lower case)")
    options = parser.parse_args()
    try:
        with psycopg.connect(options.login, autocommit=True) as connection:
            for each in changes(connection, options.table):
                print(each, flush=True)
    except psycopg.Error as error:
        sys.exit(f"cannot read {options.table}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
