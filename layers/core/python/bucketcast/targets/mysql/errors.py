"""What an error of MySQL or MariaDB means for a delivery, by its number.

Source: the error references of MySQL 8.4 and of MariaDB; numbers from 1900 to 1999 and from 4000
on are MariaDB's own, those below 1900 mean the same in both.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)

Outcome = tuple[type[DeliveryError], str]
"""What it is, and its hint."""
_GRANT = (Retryable, "grant it to the user of dsn_string")
_LEAVE = (NotConnected, "")
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
_OUTCOMES: Mapping[int, Outcome] = MappingProxyType(
    {
        1040: _TOO_MANY,
        1043: _LEAVE,
        1044: _GRANT,
        1045: _LOGIN,
        1046: (Retryable, "name the database in dsn_string, or write table as database.table"),
        1048: _ROW,
        1049: (Retryable, "make the database, or name another in dsn_string"),
        1053: _LEAVE,
        1054: (Retryable, "the table, or the guard beside it, is not as the target makes it"),
        1062: _ROW,
        1079: _LEAVE,
        1129: (NotConnected, "the server blocked this host after errors: FLUSH HOSTS there"),
        1130: (NotAuthorized, "make a user that may come from this host"),
        1142: _GRANT,
        1143: _GRANT,
        1152: _LEAVE,
        1153: _PACKET,
        1203: _TOO_MANY,
        1205: (TimedOut, "somebody holds a lock for long"),
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
        1927: _LEAVE,
        1969: _TOO_LONG,
        2005: _LEAVE,
        2026: (NotConnected, "without TLS at the server, tls=false in dsn_string connects"),
        2059: (NotAuthorized, "the server asks for a way to log in that does not go here"),
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
        3169: _LEAVE,
        3750: _PRIMARY_KEY,
        3819: _ROW,
        4025: _ROW,
        4151: (NotAuthorized, "the user is locked"),
        4161: _ROW,
    }
)
"""All others are `Retryable`, but for those of the client, 2000 and up: `NotConnected`."""
_ABOUT_A_ROW = frozenset({1644, *(code for code, each in _OUTCOMES.items() if each is _ROW)})
_CLIENT = range(2000, 3000)
_about_certificates = re.compile(r" alert |ALERT").search


def number(error: BaseException) -> int:
    """Return the error's number; 0 for what the client says without one."""
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def about_a_row(error: Exception) -> bool:
    """Return whether the server refused a row, and would take the statement without it."""
    return number(error) in _ABOUT_A_ROW


def delivery_error(error: Exception) -> DeliveryError:
    """Return what an error of the client means."""
    code = number(error)
    text = " ".join(str(error.args[-1] if error.args else error).split())
    if not code:
        return NotConnected(text or "the server hung up")
    if code in _CLIENT and _about_certificates(text):
        return NotAuthorized(f"{text}: the server asks for a client_cert that it trusts")
    if code in _CLIENT and "timed out" in text:
        return TimedOut(f"{text} ({code})")
    kind, hint = _OUTCOMES.get(code) or ((NotConnected if code in _CLIENT else Retryable), "")
    return kind.hinted(f"{text} ({code})", hint, ": ")
