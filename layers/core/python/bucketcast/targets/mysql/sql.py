# ruff: noqa: S608 - names are checked and quoted, values are hex digits or `quoted`
"""The statements of the MySQL target: tables, rows as literals, queries.

They use only syntax that the manuals of MySQL 5.7.8, 8 and 9 and of MariaDB 10.3 all document. A
statement is bytes, as its rows are encoded JSON.

The guard has a row for each key that saw a removal or an overlay (version ""), one for each version
that either named, and 64 rows to lock, so that connections can work in parallel. `put` and
`removed` are moments, a sequencer of 32 digits and a time, which compare as text; times have no Z.
A key without a guard row was only ever put: its moment is read from its row in the table, so a put
costs a single upsert.
"""

import hashlib
from collections.abc import Iterable, Iterator

from bucketcast.event import Event
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.mirror.join import UNKNOWN, Stored
from bucketcast.mirror.registers import ANY
from bucketcast.shapes import Shape
from bucketcast.targets.base.tables import format_moment, strip_zone
from bucketcast.targets.mysql.names import Form, Names

SLOTS = 64
STATEMENT_BYTES = 1024 * 1024
"""Length in bytes at which a statement ends: longer ones are no faster."""
STATEMENT_OVERHEAD = 4096
"""Bytes of a statement without its rows."""
COLUMNS = {
    "namespace": ("key_name", "key_hash", "value"),
    "access": ("event_time", "event_data"),
}
_GENERATED = "key_hash"
GUARD_COLUMNS = (
    *("id", "key_name", "version", "put", "removed", "removed_at"),
    *("overlay", "overlay_time", "noted_at"),
)
_CREATE_ACCESS = "(event_time DATETIME NOT NULL, event_data JSON) ROW_FORMAT=DYNAMIC"
_CREATE_NAMESPACE = """(
    key_name VARCHAR(3072) NOT NULL,
    key_hash CHAR(64) GENERATED ALWAYS AS (SHA2(key_name, 256)) STORED {},
    value JSON
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT=DYNAMIC"""
_UNIQUE = {False: "NOT NULL PRIMARY KEY", True: "UNIQUE"}
"""MariaDB allows neither a primary key nor NOT NULL on a generated column."""
_CREATE_GUARD = """(
    id BINARY(32) NOT NULL PRIMARY KEY,
    key_name VARCHAR(3072) NOT NULL,
    version VARCHAR(1024) NOT NULL,
    put VARCHAR(255) CHARACTER SET ascii NOT NULL,
    removed VARCHAR(255) CHARACTER SET ascii NOT NULL,
    removed_at VARCHAR(255) CHARACTER SET ascii NOT NULL,
    overlay JSON,
    overlay_time VARCHAR(255) CHARACTER SET ascii NOT NULL,
    noted_at DATETIME NOT NULL,
    KEY (noted_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT=DYNAMIC"""
_SECONDS_LENGTH = len("2026-01-02T03:04:05")
_NEVER = b"'9999-12-31'"
SKIP_LOCKED = " FOR UPDATE SKIP LOCKED"
READ_UNCOMMITTED = b"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"
"""The next transaction sees the rows that another inserts."""


def quote(text: bytes) -> bytes:
    """Return a literal; with the session's sql_mode, a backslash escapes."""
    return b"'%b'" % text.replace(b"\\", b"\\\\").replace(b"'", b"\\'")


def identity(key: str, version: str = ANY) -> str:
    """Return the hash of a key in hex, as in MinIO's `key_hash`, or that of one of its versions."""
    digest = hashlib.sha256(key.encode())
    if version != ANY:
        digest = hashlib.sha256(digest.digest() + version.encode())
    return digest.hexdigest()


def create(names: Names, form: Form, *, mariadb: bool) -> bytes:
    """Create a table as MinIO creates it."""
    columns = _CREATE_ACCESS
    if form == "namespace":
        columns = _CREATE_NAMESPACE.format(_UNIQUE[mariadb])
    return f"CREATE TABLE IF NOT EXISTS {names.table} {columns}".encode()


def create_guard(names: Names) -> bytes:
    return f"CREATE TABLE IF NOT EXISTS {names.guard} {_CREATE_GUARD}".encode()


def insert_slots(names: Names) -> bytes:
    """Insert the rows to lock, at the low end of the hashes, where no key has its row."""
    rows = (b"(x'%064x','','','','','',NULL,'',%b)" % (slot, _NEVER) for slot in range(SLOTS))
    return b"INSERT IGNORE" + _insert_into_guard(names) + b",".join(rows)


def lock(names: Names, identities: Iterable[str], *, exclusive: bool) -> tuple[int, bytes]:
    """Return the number of slots of these keys, and the statement that locks them in one order."""
    slots = {int(identity[-2:], 16) % SLOTS for identity in identities}
    listed = ",".join(f"x'{slot:064x}'" for slot in sorted(slots))
    mode = "FOR UPDATE" if exclusive else "LOCK IN SHARE MODE"
    statement = (
        f"SELECT id FROM {names.guard} FORCE INDEX (PRIMARY) WHERE id IN ({listed}) "
        f"ORDER BY id {mode}"
    )
    return len(slots), statement.encode()


def select_guard(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    """Read the guard's rows."""
    columns = "HEX(id), put, removed, removed_at, overlay, overlay_time"
    head = f"SELECT {columns} FROM {names.guard} FORCE INDEX (PRIMARY) WHERE id IN ("
    return statements(head.encode(), (b"x'%b'" % item.encode() for item in identities), b")")


def select_values(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    """Read the values of rows."""
    return _by_hash("SELECT key_hash, value", names, identities)


def select_hashes(names: Names, identities: Iterable[str], mode: str = "") -> Iterator[bytes]:
    """Read which rows there are."""
    return _by_hash("SELECT key_hash", names, identities, mode)


def delete(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    return _by_hash("DELETE", names, identities)


def _by_hash(verb: str, names: Names, identities: Iterable[str], mode: str = "") -> Iterator[bytes]:
    head, tail = f"{verb} FROM {names.table} WHERE key_hash IN (", f"){mode}"
    hashes = (b"'%b'" % item.encode() for item in identities)
    return statements(head.encode(), hashes, tail.encode())


def row(key: bytes, value: bytes) -> bytes:
    """Return a row of the table of the format `namespace`."""
    return b"(%b,%b)" % (quote(key), quote(value))


def log_row(event: Event, shape: Shape) -> bytes:
    """Return a row of the format `access`."""
    # Cut the fractions here: MySQL rounds them, MariaDB truncates them.
    return row(event.time[:_SECONDS_LENGTH].encode(), shape.value(event))


def put(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    """Write rows of keys without a guard row, unless the stored row is newer."""
    newer = f"{_moment('VALUES(value)')} > {_moment('value')}"
    tail = f" ON DUPLICATE KEY UPDATE value = IF({newer}, VALUES(value), value)"
    return statements(_insert_into(names), rows, tail.encode())


def write(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    """Write rows, and replace existing ones."""
    tail = b" ON DUPLICATE KEY UPDATE value = VALUES(value)"
    return statements(_insert_into(names), rows, tail)


def guard_rows(key: str, stored: Stored, versions: Iterable[str]) -> Iterator[bytes]:
    """Yield a key's row of the guard, and those of these versions."""
    for version in dict.fromkeys((ANY, *versions)):
        known = stored.versions.get(version, UNKNOWN)
        put = format_moment(stored.put.moment) if stored.put and version == ANY else ""
        fields = (key, version, put, format_moment(known.removed), strip_zone(known.removed_at))
        columns = b",".join(quote(item.encode()) for item in fields)
        overlay, overlay_time = b"NULL", ""
        if known.overlay:
            overlay = quote(bytes(known.overlay.document))
            overlay_time = strip_zone(known.overlay.time)
        overlay_columns = overlay, quote(overlay_time.encode())
        id_ = identity(key, version).encode()
        yield b"(x'%b',%b,%b,%b,UTC_TIMESTAMP())" % (id_, columns, *overlay_columns)


def write_guard(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    changed = GUARD_COLUMNS[3:]
    tail = ", ".join(f"{column} = VALUES({column})" for column in changed)
    head = b"INSERT" + _insert_into_guard(names)
    return statements(head, rows, f" ON DUPLICATE KEY UPDATE {tail}".encode())


def append(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    head = f"INSERT INTO {names.table} (event_time, event_data) VALUES ".encode()
    return statements(head, rows, b"")


def sweep(names: Names, limit: int) -> bytes:
    """Delete up to `limit` expired rows."""
    return (
        f"DELETE FROM {names.guard} WHERE noted_at < UTC_TIMESTAMP() - INTERVAL"
        f" {TOMBSTONE_DAYS} DAY ORDER BY noted_at LIMIT {limit}"
    ).encode()


def dry_runs(names: Names, form: Form, *, table: bool, guard: bool) -> Iterator[bytes]:
    """Yield statements that need the rights of a delivery, but neither read nor write a row."""
    tables = [(names.table, COLUMNS[form])] * table + [(names.guard, GUARD_COLUMNS)] * guard
    for name, columns in tables:
        written = [column for column in columns if column != _GENERATED]
        blanks = ", ".join("''" for _ in written)
        insert = f"INSERT INTO {name} ({', '.join(written)}) SELECT {blanks} FROM DUAL WHERE FALSE"
        if form == "namespace":
            insert += f" ON DUPLICATE KEY UPDATE {written[-1]} = VALUES({written[-1]})"
            yield f"SELECT {written[0]} FROM {name} WHERE FALSE".encode()
            yield f"DELETE FROM {name} WHERE FALSE".encode()
        yield insert.encode()


def statements(head: bytes, rows: Iterable[bytes], tail: bytes) -> Iterator[bytes]:
    """Yield statements with these rows between head and tail, of about `STATEMENT_BYTES` each."""
    part: list[bytes] = []
    size = 0
    for row in rows:
        if part and size + len(row) > STATEMENT_BYTES:
            yield head + b",".join(part) + tail
            part, size = [], 0
        part.append(row)
        size += len(row) + 1
    if part:
        yield head + b",".join(part) + tail


def _insert_into(names: Names) -> bytes:
    return f"INSERT INTO {names.table} (key_name, value) VALUES ".encode()


def _insert_into_guard(names: Names) -> bytes:
    return f" INTO {names.guard} ({', '.join(GUARD_COLUMNS)}) VALUES ".encode()


def _text(value: str, path: str) -> str:
    """Return the SQL for a text in a value's record."""
    return f"JSON_UNQUOTE(JSON_EXTRACT({value}, '$.Records[0].{path}'))"


def _moment(value: str) -> str:
    """Return the SQL for the moment of the put in a value; a missing sequencer is all zeros."""
    digits = f"LPAD(LOWER(COALESCE({_text(value, 's3.object.sequencer')}, '')), 32, '0')"
    time = f"COALESCE(TRIM(TRAILING 'Z' FROM {_text(value, 'eventTime')}), '')"
    return f"CONCAT({digits}, {time})"
