"""Translate errors of MySQL and MariaDB into delivery errors, by their numbers.

Source: the error references of MySQL 8.4 and of MariaDB; numbers from 1900 to 1999 and from 4000
on are MariaDB's own, those below 1900 mean the same in both.
"""

import re
from collections.abc import Mapping

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)

LOCK_WAIT_TIMEOUT = 1205
PARSE_ERROR = 1064
Outcome = tuple[type[DeliveryError], str]
"""The class of the delivery error, and its hint."""
_GRANT = (Retryable, "grant it to the user of dsn_string")
_DISCONNECTED = (NotConnected, "")
_LOGIN = (
    NotAuthorized,
    "another password, from another host, over TLS (tls=true in dsn_string) or with a client_cert?",
)
_PACKET = (Retryable, "let the server take more by max_allowed_packet")
_PRIMARY_KEY = (
    Retryable,
    "the server asks for a primary key: make the table, with id BIGINT AUTO_INCREMENT PRIMARY KEY",
)
_READ_ONLY = (NotConnected, "the server takes no writes: name the one that does in dsn_string")
_ROW = (Rejected, "")
_TOO_LONG = (TimedOut, "the server is overloaded, or its limit for a statement is low")
_TOO_MANY = (NotConnected, "lower max_open_connections, or let the server take more")
_OUTCOMES: Mapping[int, Outcome] = {
    1040: _TOO_MANY,
    1043: _DISCONNECTED,
    1044: _GRANT,
    1045: _LOGIN,
    1046: (Retryable, "name the database in dsn_string, or write table as database.table"),
    1048: _ROW,
    1049: (Retryable, "make the database, or name another in dsn_string"),
    1053: _DISCONNECTED,
    1054: (Retryable, "the table, or the guard beside it, is not as the target makes it"),
    1062: _ROW,
    1079: _DISCONNECTED,
    1129: (NotConnected, "the server blocked this host after errors: FLUSH HOSTS there"),
    1130: (NotAuthorized, "make a user that may come from this host"),
    1142: _GRANT,
    1143: _GRANT,
    1152: _DISCONNECTED,
    1153: _PACKET,
    1203: _TOO_MANY,
    LOCK_WAIT_TIMEOUT: (TimedOut, "another transaction holds a lock for long"),
    1226: _TOO_MANY,
    1227: _GRANT,
    1264: _ROW,
    1265: _ROW,
    1290: _READ_ONLY,
    1292: _ROW,
    1301: _PACKET,
    1366: _ROW,
    1370: _GRANT,
    1406: _ROW,
    1451: _ROW,
    1452: _ROW,
    1644: (Retryable, ""),
    1665: (Retryable, "the server needs binlog_format=ROW or MIXED"),
    1698: _LOGIN,
    1792: _READ_ONLY,
    1820: (NotAuthorized, "the user's password has expired"),
    1836: _READ_ONLY,
    1862: (NotAuthorized, "the user's password has expired"),
    1927: _DISCONNECTED,
    1969: _TOO_LONG,
    2005: _DISCONNECTED,
    2026: (NotConnected, "without TLS at the server, tls=false in dsn_string connects"),
    2059: (NotAuthorized, "the server asks for a login method that is not supported"),
    3024: _TOO_LONG,
    3098: _PRIMARY_KEY,
    3140: _ROW,
    3141: _ROW,
    3143: _ROW,
    3157: _ROW,
    3159: (
        NotConnected,
        "the server takes TLS only: tls=true in dsn_string, or cert_authority",
    ),
    3169: _DISCONNECTED,
    3750: _PRIMARY_KEY,
    3819: _ROW,
    4025: _ROW,
    4151: (NotAuthorized, "the user is locked"),
    4161: _ROW,
}
"""All others are `Retryable`, except the client's errors, 2000 to 2999: `NotConnected`."""
_ROW_ERRORS = frozenset(
    {1644, LOCK_WAIT_TIMEOUT, *(code for code, outcome in _OUTCOMES.items() if outcome is _ROW)}
)
_CLIENT = range(2000, 3000)
_is_about_certificates = re.compile(r" alert |ALERT").search


def number(error: BaseException) -> int:
    """Return the error's number; 0 if the client library gave it none."""
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def is_about_a_row(error: Exception) -> bool:
    """Return True if the server refused a row, or waited for one that is locked."""
    return number(error) in _ROW_ERRORS


def delivery_error(error: Exception) -> DeliveryError:
    """Translate an error of the client into a delivery error with a hint."""
    code = number(error)
    message = " ".join(str(error.args[-1] if error.args else error).split())
    if not code:
        return NotConnected(message or "the server closed the connection")
    if code in _CLIENT and _is_about_certificates(message):
        return NotAuthorized(f"{message}: the server asks for a client_cert that it trusts")
    if code in _CLIENT and "timed out" in message:
        return TimedOut(f"{message} ({code})")
    kind, hint = _OUTCOMES.get(code) or ((NotConnected if code in _CLIENT else Retryable), "")
    return kind.hinted(f"{message} ({code})", hint, ": ")
