# ruff: noqa: S608 - names are checked and quoted, values are hex digits or `quoted`
"""What the MySQL target says to the server: tables, rows as literals, and the few statements.

Only what the manuals of MySQL 5.7.8, 8 and 9 and of MariaDB 10.3 all document. A statement is
bytes, for its rows are JSON that was encoded already.

The guard has a row for each key that saw a removal or an overlay (version ""), one for each version
that either named, and 64 more whose locks let connections work side by side. `put` and `removed`
are moments, a sequencer of 32 digits with a time behind it, which compare as text; times have no Z.
A key without a row in the guard was only ever put: its moment is read from the row that is seen, so
that a put costs one upsert and nothing else.
"""

import hashlib
from collections.abc import Iterable, Iterator

from bucketcast.event import Event
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.mirror.join import UNKNOWN, Stored
from bucketcast.mirror.registers import ANY
from bucketcast.shapes import Shape
from bucketcast.targets.base.tables import SWEEP_LIMIT, format_moment, strip_zone
from bucketcast.targets.mysql.names import Form, Names

SLOTS = 64
PART = 1024 * 1024
"""Bytes from which on a statement ends: longer ones are no faster."""
ROOM = 4096
"""Bytes of a statement that are none of its rows."""
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
"""MariaDB has no primary key over a generated column, and takes no NOT NULL for one."""
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
_TO_THE_SECOND = len("2026-01-02T03:04:05")
_NEVER = b"'9999-12-31'"


def quoted(text: bytes) -> bytes:
    """Return a literal; the session's sql_mode leaves the backslash its meaning."""
    return b"'%b'" % text.replace(b"\\", b"\\\\").replace(b"'", b"\\'")


def identity(key: str, version: str = ANY) -> str:
    """Hex digits that name a key, as in MinIO's `key_hash`, or one version of it."""
    digest = hashlib.sha256(key.encode())
    if version != ANY:
        digest = hashlib.sha256(digest.digest() + version.encode())
    return digest.hexdigest()


def create(names: Names, form: Form, *, mariadb: bool) -> bytes:
    """Make a table as MinIO makes it."""
    columns = _CREATE_ACCESS
    if form == "namespace":
        columns = _CREATE_NAMESPACE.format(_UNIQUE[mariadb])
    return f"CREATE TABLE IF NOT EXISTS {names.table} {columns}".encode()


def create_guard(names: Names) -> bytes:
    return f"CREATE TABLE IF NOT EXISTS {names.guard} {_CREATE_GUARD}".encode()


def make_slots(names: Names) -> bytes:
    """Return rows to lock, at the low end of the hashes: none of a key is there."""
    rows = (b"(x'%064x','','','','','',NULL,'',%b)" % (slot, _NEVER) for slot in range(SLOTS))
    return b"INSERT IGNORE" + _into_guard(names) + b",".join(rows)


def lock(names: Names, identities: Iterable[str], *, alone: bool) -> tuple[int, bytes]:
    """Return how many slots these keys share, and the statement that locks them, in one order."""
    slots = {int(each[-2:], 16) % SLOTS for each in identities}
    listed = ",".join(f"x'{slot:064x}'" for slot in sorted(slots))
    how = "FOR UPDATE" if alone else "LOCK IN SHARE MODE"
    statement = (
        f"SELECT id FROM {names.guard} FORCE INDEX (PRIMARY) WHERE id IN ({listed}) "
        f"ORDER BY id {how}"
    )
    return len(slots), statement.encode()


def guarded(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    """Read the guard's rows."""
    columns = "HEX(id), put, removed, removed_at, overlay, overlay_time"
    head = f"SELECT {columns} FROM {names.guard} FORCE INDEX (PRIMARY) WHERE id IN ("
    return statements(head.encode(), (b"x'%b'" % each.encode() for each in identities), b")")


def shown(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    """Read of the rows that are seen what `state.load` takes."""
    columns = f"key_hash, {_text('value', 'eventTime')}, {_part('value', 's3.object')}"
    return _of_table(f"SELECT {columns}", names, identities)


def values(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    """Read rows that are seen, as they are."""
    return _of_table("SELECT key_hash, value", names, identities)


def remove(names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    return _of_table("DELETE", names, identities)


def _of_table(what: str, names: Names, identities: Iterable[str]) -> Iterator[bytes]:
    head = f"{what} FROM {names.table} WHERE key_hash IN ("
    return statements(head.encode(), (b"'%b'" % each.encode() for each in identities), b")")


def row(key: bytes, value: bytes) -> bytes:
    """Return a row of the table of the format `namespace`."""
    return b"(%b,%b)" % (quoted(key), quoted(value))


def appended(event: Event, shape: Shape) -> bytes:
    """Return a row of the format `access`.

    Raises:
        UnicodeEncodeError: it holds what is no Unicode text.
    """
    # Cut here: what a column without fractions does with them is not the same in both products.
    return row(event.time[:_TO_THE_SECOND].encode(), shape.value(event))


def put(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    """Write rows whose keys the guard does not know, unless what is seen is newer."""
    newer = f"{_moment('VALUES(value)')} > {_moment('value')}"
    tail = f" ON DUPLICATE KEY UPDATE value = IF({newer}, VALUES(value), value)"
    return statements(_into(names), rows, tail.encode())


def write(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    """Write rows over what is there."""
    tail = b" ON DUPLICATE KEY UPDATE value = VALUES(value)"
    return statements(_into(names), rows, tail)


def guard_rows(key: str, stored: Stored, versions: Iterable[str]) -> Iterator[bytes]:
    """Yield a key's row of the guard, and those of these versions."""
    for version in dict.fromkeys((ANY, *versions)):
        of = stored.versions.get(version, UNKNOWN)
        put = format_moment(stored.put.moment) if stored.put and version == ANY else ""
        fields = (key, version, put, format_moment(of.removed), strip_zone(of.removed_at))
        texts = b",".join(quoted(each.encode()) for each in fields)
        overlay, overlay_time = b"NULL", ""
        if of.overlay:
            overlay, overlay_time = quoted(bytes(of.overlay.document)), strip_zone(of.overlay.time)
        laid = overlay, quoted(overlay_time.encode())
        identified = identity(key, version).encode()
        yield b"(x'%b',%b,%b,%b,UTC_TIMESTAMP())" % (identified, texts, *laid)


def write_guard(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    changing = GUARD_COLUMNS[3:]
    tail = ", ".join(f"{each} = VALUES({each})" for each in changing)
    head = b"INSERT" + _into_guard(names)
    return statements(head, rows, f" ON DUPLICATE KEY UPDATE {tail}".encode())


def append(names: Names, rows: Iterable[bytes]) -> Iterator[bytes]:
    head = f"INSERT INTO {names.table} (event_time, event_data) VALUES ".encode()
    return statements(head, rows, b"")


def sweep(names: Names) -> bytes:
    """Forget what is too old to matter, `SWEEP_LIMIT` of it."""
    return (
        f"DELETE FROM {names.guard} WHERE noted_at < UTC_TIMESTAMP() - INTERVAL"
        f" {TOMBSTONE_DAYS} DAY ORDER BY noted_at LIMIT {SWEEP_LIMIT}"
    ).encode()


def trials(names: Names, form: Form, *, table: bool, guard: bool) -> Iterator[bytes]:
    """Statements that need the rights of a delivery, and neither read nor write a row."""
    wanted = [(names.table, COLUMNS[form])] * table + [(names.guard, GUARD_COLUMNS)] * guard
    for name, columns in wanted:
        settings = [each for each in columns if each != _GENERATED]
        nothing = ", ".join("''" for _ in settings)
        insert = (
            f"INSERT INTO {name} ({', '.join(settings)}) SELECT {nothing} FROM DUAL WHERE FALSE"
        )
        if form == "namespace":
            insert += f" ON DUPLICATE KEY UPDATE {settings[-1]} = VALUES({settings[-1]})"
            yield f"SELECT {settings[0]} FROM {name} WHERE FALSE".encode()
            yield f"DELETE FROM {name} WHERE FALSE".encode()
        yield insert.encode()


def statements(head: bytes, rows: Iterable[bytes], tail: bytes) -> Iterator[bytes]:
    """Statements with these rows between head and tail, each about `PART` bytes long at most."""
    part: list[bytes] = []
    size = 0
    for each in rows:
        if part and size + len(each) > PART:
            yield head + b",".join(part) + tail
            part, size = [], 0
        part.append(each)
        size += len(each) + 1
    if part:
        yield head + b",".join(part) + tail


def _into(names: Names) -> bytes:
    return f"INSERT INTO {names.table} (key_name, value) VALUES ".encode()


def _into_guard(names: Names) -> bytes:
    return f" INTO {names.guard} ({', '.join(GUARD_COLUMNS)}) VALUES ".encode()


def _part(value: str, path: str) -> str:
    """Return a part of a value's event, as JSON."""
    return f"JSON_EXTRACT({value}, '$.Records[0].{path}')"


def _text(value: str, path: str) -> str:
    return f"JSON_UNQUOTE({_part(value, path)})"


def _moment(value: str) -> str:
    """Return the moment of the put in a value; digits that are all 0 where it has no sequencer."""
    digits = f"LPAD(LOWER(COALESCE({_text(value, 's3.object.sequencer')}, '')), 32, '0')"
    time = f"COALESCE(TRIM(TRAILING 'Z' FROM {_text(value, 'eventTime')}), '')"
    return f"CONCAT({digits}, {time})"
