"""The tables of the MySQL target: check existing ones, create missing ones."""

from collections.abc import Mapping
from typing import NamedTuple

from bucketcast.errors import Retryable
from bucketcast.targets.mysql import sql
from bucketcast.targets.mysql.answers import NO_SUCH_TABLE, number
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Form, Names


class Column(NamedTuple):
    collation: str
    is_counted: bool
    """Whether the server numbers the rows by it."""


def find(connection: Client, names: Names, form: Form) -> bool:
    """Return True if the table exists.

    Raises:
        Retryable: it has other columns, or cannot store all keys.
    """
    columns = _columns(connection, names.table)
    needed = sql.COLUMNS[form]
    if not columns:
        return False
    if not columns.keys() >= set(needed):
        raise Retryable(
            f"table {names.table} has the columns {', '.join(columns)}, while format {form} needs "
            f"{', '.join(needed)}: set the other format, name another table or move this one away"
        )
    if form == "namespace":
        _check_key(connection, names, columns)
    return True


def find_guard(connection: Client, names: Names) -> bool:
    """Return True if the guard exists.

    Raises:
        Retryable: it is another table.
    """
    columns = _columns(connection, names.guard)
    if columns and columns.keys() != set(sql.GUARD_COLUMNS):
        raise Retryable(
            f"table {names.guard} is not a guard that the target created: move it away, or name "
            "another table"
        )
    return bool(columns)


def create_missing(connection: Client, names: Names, form: Form) -> None:
    """Create missing tables, which another instance may create at the same time."""
    if not find(connection, names, form):
        ((version,),) = connection.query(b"SELECT VERSION()")
        connection.execute([sql.create(names, form, mariadb="mariadb" in str(version).lower())])
    if form == "namespace" and not find_guard(connection, names):
        connection.execute([sql.create_guard(names), sql.insert_slots(names)])
        connection.commit()


def _columns(connection: Client, table: str) -> Mapping[str, Column]:
    from pymysql import MySQLError  # noqa: PLC0415 - carried by functions that deliver

    try:
        rows = connection.query(f"SHOW FULL COLUMNS FROM {table}".encode())
    except MySQLError as error:
        if number(error) != NO_SUCH_TABLE:
            raise
        return {}
    return {str(row[0]).lower(): Column(row[2] or "", "auto_increment" in row[6]) for row in rows}


def _check_key(connection: Client, names: Names, columns: Mapping[str, Column]) -> None:
    """Check that keys can be found by the unique hash of their UTF-8 text."""
    if not columns["key_name"].collation.startswith("utf8mb4"):
        raise Retryable(
            f"column key_name of {names.table} is not utf8mb4: ALTER TABLE {names.table} "
            "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
    unique = _unique_indexes(connection, names.table)
    if {"key_hash"} not in unique.values():
        raise Retryable(
            f"column key_hash of {names.table} is not unique: ALTER TABLE {names.table} ADD UNIQUE "
            "(key_hash)"
        )
    for index, indexed in unique.items():
        if "key_hash" not in indexed and not any(columns[each].is_counted for each in indexed):
            raise Retryable(
                f"{names.table} has the unique index {index}, by which several objects could be "
                f"one row: DROP INDEX {index} ON {names.table}"
            )


def _unique_indexes(connection: Client, table: str) -> Mapping[str, set[str]]:
    """Return the columns of each unique index, without expressions and parts of columns."""
    found: dict[str, set[str]] = {}
    for row in connection.query(f"SHOW INDEX FROM {table} WHERE Non_unique = 0".encode()):
        found.setdefault(str(row[2]), set()).update(
            [str(row[4]).lower()] if row[4] and row[7] is None else []
        )
    return found
