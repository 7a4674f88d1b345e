"""Print what the MySQL target writes, as it comes: time, name, bucket/key, size in bytes.

    pip install 'pymysql[rsa]'
    export MYSQL_USER=user MYSQL_PWD=password
    python examples/consumers/mysql.py localhost:3306 minio_events bucketevents

A mirror's rows (format `namespace`) are printed when they appear, change or are deleted, a log's
(`access`) when they are appended. If the table does not exist yet, it waits for it. It reads the
whole table once a second, which suits small tables.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

import pymysql

MIRROR = "SELECT key_name, value FROM {}"
LOG = "SELECT '', event_data FROM {}"
EXISTS = (
    "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
)


def changes(connection: Any, table: str) -> Iterator[str]:
    """Yield a line for each new, changed or deleted row, forever."""
    name = f"`{table.replace('`', '``')}`"
    with connection.cursor() as cursor:
        if not cursor.execute(EXISTS, (table,)):
            print(f"waiting for {table}", file=sys.stderr, flush=True)
        while not cursor.execute(EXISTS, (table,)):
            time.sleep(1)
        cursor.execute(f"SHOW COLUMNS FROM {name}")
        mirrors = "key_name" in [column for column, *_ in cursor.fetchall()]
        seen: Counter[tuple[str, str]] = Counter()
        while True:
            cursor.execute((MIRROR if mirrors else LOG).format(name))
            rows = Counter(cursor.fetchall())
            yield from (line(value) for _, value in (rows - seen).elements())
            gone = {key for key, _ in seen} - {key for key, _ in rows}
            yield from (f"{'gone':<66}  {key}" for key in gone)
            seen = rows
            time.sleep(1)


def line(value: str) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    record = json.loads(value)["Records"][0]
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Print until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the MySQL target writes.")
    parser.add_argument("address", help="the server, such as localhost:3306")
    parser.add_argument("database", help="the target's database")
    parser.add_argument("table", help="the target's table")
    options = parser.parse_args()
    host, _, port = options.address.partition(":")
    try:
        with pymysql.connect(
            host=host,
            port=int(port or 3306),
            user=os.environ.get("MYSQL_USER"),
            password=os.environ.get("MYSQL_PWD", ""),
            database=options.database,
            charset="utf8mb4",
            autocommit=True,
        ) as connection:
            for each in changes(connection, options.table):
                print(each, flush=True)
    except pymysql.MySQLError as error:
        sys.exit(f"cannot read {options.table}: {error.args[-1]}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
