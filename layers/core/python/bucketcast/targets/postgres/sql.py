"""The statements of the PostgreSQL target: tables, rows as COPY text, the guard.

The guard has a row for each key that saw a removal or an overlay (version ""), and one for each
version that either named::

    put           the moment of the newest put of the key, shown or hidden
    removed       the newest moment of the version's removals
    removed_at    the newest time of its removals without sequencer
    overlay       its newest overlay, and overlay_time, its time

A *moment* is a sequencer of 32 digits and a time, which compares as text in collation C; times have
no Z. An entry without a sequencer has no moment; only then its time is staged. A key without a
guard row was only ever put: its moment is read from its row in the table, so a put costs a single
upsert.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from bucketcast.event import Event
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.mirror.registers import RegisterUpdate
from bucketcast.shapes import Shape
from bucketcast.shapes.minio import records
from bucketcast.targets.base.tables import strip_zone
from bucketcast.targets.postgres.settings import GUARD

if TYPE_CHECKING:
    from bucketcast.targets.postgres.client import Client

Row = tuple[bytes, ...]
"""A row in COPY's text format, in pieces: joining those of many rows at once is cheaper."""
COLUMNS = {
    "namespace": {"key": "character varying", "value": "jsonb"},
    "access": {"event_time": "timestamp with time zone", "event_data": "jsonb"},
}
REQUIRED_RIGHTS = {"namespace": ("SELECT", "INSERT", "UPDATE", "DELETE"), "access": ("INSERT",)}
CREATE = {
    "namespace": "(key varchar primary key, value jsonb)",
    "access": "(event_time timestamp with time zone not null, event_data jsonb)",
}
# A transaction that waited for a lock must see the rows written meanwhile.
SET_SESSION = """
set session characteristics as transaction isolation level read committed;
select set_config('statement_timeout', '15s', false)
where current_setting('statement_timeout') = '0';
select set_config('idle_in_transaction_session_timeout', '60s', false)
where current_setting('idle_in_transaction_session_timeout') = '0'
"""
LOCK_CREATION = "begin; select pg_advisory_xact_lock(hashtext('bucketcast makes tables'))"
JOIN = "select pg_temp.bucketcast_join(false); commit"
JOIN_PUTS = "select pg_temp.bucketcast_join(true); commit"
CREATE_STAGE = """
create temporary table if not exists bucketcast_staged (
    register text, version text, moment text collate "C", time text collate "C", key varchar,
    value jsonb
) on commit delete rows
"""
COPY_TO_STAGE = "begin; copy pg_temp.bucketcast_staged from stdin"

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def stage_row(entry: RegisterUpdate) -> Row:
    """Return a row of `bucketcast_staged`."""
    bare_time = strip_zone(entry.time)
    moment, time = (entry.sequencer + bare_time, "") if entry.sequencer else ("", bare_time)
    register = "seen" if entry.seen else entry.register
    return _row((register, entry.version, moment, time, entry.key), records(entry.event))


def log_row(event: Event, shape: Shape) -> Row:
    """Return a row of the format `access`."""
    return _row((event.time,), shape.value(event))


def _row(fields: tuple[str, ...], json: bytes) -> Row:
    """Escape COPY's special characters; JSON may have line ends and tabs between its tokens."""
    head = "\t".join(fields)
    if "\\" in head or not "".join(fields).isprintable():
        head = "\t".join(field.translate(_ESCAPES) for field in fields)
    if b"\\" in json:
        json = json.replace(b"\\", rb"\\")
    if b"\n" in json or b"\t" in json or b"\r" in json:
        json = json.replace(b"\n", rb"\n").replace(b"\t", rb"\t").replace(b"\r", rb"\r")
    return f"{head}\t".encode(), json, b"\n"


class Names(NamedTuple):
    """The names of a table and its guard in SQL; `schema` is "" if unknown."""

    schema: str
    table: str
    guard: str

    @classmethod
    def of(cls, table: str, schema: str = "") -> Self:
        """Parse a table's name as in MinIO's option: quoted, or plain and folded by the server."""
        guard = f'{table[:-1]}{GUARD}"' if table.endswith('"') else table + GUARD
        prefix = '"{}".'.format(schema.replace('"', '""')) if schema else ""
        return cls(schema, prefix + table, prefix + guard)


def columns(client: "Client", name: str) -> tuple[str, dict[str, str]]:
    """Return a table's schema and its columns with their types; empty if it does not exist."""
    rows = client.query(
        "select nspname, attname, format_type(atttypid, null) from pg_attribute"
        " join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace"
        " where attrelid = to_regclass($1) and attnum > 0 and not attisdropped",
        name,
    )
    return (rows[0][0] if rows else ""), {column: kind for _, column, kind in rows}


def other_unique_indexes(client: "Client", name: str) -> list[str]:
    """Return the unique indexes by which several keys could be one row."""
    rows = client.query(
        "select i.relname from pg_index x join pg_class i on i.oid = x.indexrelid"
        " where x.indrelid = to_regclass($1) and x.indisunique and not exists ("
        "select from pg_attribute a where a.attrelid = x.indrelid and a.attnum = any(x.indkey)"
        " and (a.attname = 'key' or pg_get_serial_sequence($1, a.attname) is not null))",
        name,
    )
    return [index for (index,) in rows]


def missing_rights(client: "Client", schema: str, table: str, rights: Iterable[str]) -> list[str]:
    """Return the user's missing rights on a table, or CREATE on the schema if it does not exist.

    A schema of "" is the one in which the user's tables are created.
    """
    rows = client.query(
        "select wanted || ' on ' || $1 from unnest($2::text[]) wanted"
        " where not has_table_privilege(to_regclass($1), wanted)"
        " union all select 'CREATE on the schema for ' || $1"
        " where to_regclass($1) is null"
        " and not coalesce("
        "has_schema_privilege(coalesce($3, current_schema()), 'CREATE'), false)",
        table,
        list(rights),
        schema or None,
    )
    return [right for (right,) in rows]


def table(name: str, form: str) -> str:
    """Create a table as MinIO creates it."""
    return f"create table {name} {CREATE[form]}"


def append(names: Names) -> str:
    """Copy into the table of the format `access`."""
    return f"copy {names.table} (event_time, event_data) from stdin"


def guard(names: Names) -> str:
    """Create the guard."""
    return f"""
create table {names.guard} (
    key varchar not null,
    version text not null,
    put text collate "C" not null default '',
    removed text collate "C" not null default '',
    removed_at text collate "C" not null default '',
    overlay jsonb,
    overlay_time text collate "C" not null default '',
    noted_at timestamp with time zone not null default now(),
    primary key (key, version)
);
create index on {names.guard} (noted_at)
"""


def begin_as_a_writer(names: Names) -> str:
    """Begin a transaction, unless the table itself is locked."""
    return f"begin; set local lock_timeout = '1s'; lock table {names.table} in row exclusive mode"


def locked(names: Names) -> str:
    """Return the keys among $1 whose rows are locked."""
    rows = f"select key from {names.table} where key = any($1)"  # noqa: S608
    free = f"with free as ({rows} for update skip locked)"
    return f"{free} {rows} except select key from free"  # noqa: S608


def sweep(names: Names, limit: int) -> str:
    """Delete up to `limit` expired rows, without those that are locked."""
    return f"""
delete from {names.guard} where (key, version) in (
    select key, version from {names.guard}
    where noted_at < now() - interval '{TOMBSTONE_DAYS} days'
    order by noted_at limit {limit} for update skip locked
)
"""  # noqa: S608 - names are checked, nothing else is inserted
