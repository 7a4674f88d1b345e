"""Translate SQLSTATEs into delivery errors with hints."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)
from bucketcast.targets.base import iam

if TYPE_CHECKING:
    import psycopg

ROW_ERRORS = ("22", "23", "54", "P0")
"""Classes of errors that concern a row, not the whole batch."""
_READ_ONLY = (
    "the server takes no writes: list all hosts in connection_string, and "
    "target_session_attrs=read-write finds the one that does"
)
_OUTCOMES: Mapping[str, tuple[type[DeliveryError], str]] = MappingProxyType(
    {
        "08": (NotConnected, ""),
        "22": (Rejected, ""),
        "23": (Rejected, ""),
        "25006": (NotConnected, _READ_ONLY),
        "25P03": (NotConnected, ""),
        "28": (NotAuthorized, ""),
        "3D": (Retryable, "make the database, or name another in connection_string"),
        "3F": (Retryable, "make the schema, or set search_path in connection_string's options"),
        "42": (Retryable, "the table, or the guard beside it, is not as the target makes it"),
        "42501": (Retryable, "grant it to the user of connection_string"),
        "42601": (Retryable, 'put the table\'s name in "quotes" if it is a word of SQL'),
        "53300": (NotConnected, "lower max_open_connections, or let the server take more"),
        "54": (Rejected, ""),
        "57": (NotConnected, ""),
        "57014": (TimedOut, "the server is overloaded, or another session holds a lock for long"),
    }
)
"""The delivery error of a SQLSTATE, or of its class, and its hint; others are `Retryable`."""
_is_about_login = re.compile(
    r"authentication|password|pg_hba|role .+ does not exist|client certificate"
).search
_is_about_time = re.compile(r"timed out|timeout expired").search


def delivery_error(error: "psycopg.Error") -> DeliveryError:
    """Translate an error of the client; libpq's errors while connecting have no SQLSTATE."""
    code = error.sqlstate
    message = " ".join((error.diag.message_primary or str(error)).split())
    if not code:
        if " alert " in message:  # TLS refused the client's certificate
            return NotAuthorized(f"{message}: the server asks for a client_cert that it trusts")
        if "PAM" in message:  # RDS checks tokens by PAM
            return NotAuthorized.hinted(message, iam.HINT)
        if _is_about_login(message):
            return NotAuthorized(message)
        return TimedOut(message) if _is_about_time(message) else NotConnected(message)
    kind, hint = _OUTCOMES.get(code) or _OUTCOMES.get(code[:2]) or (Retryable, "")
    return kind.hinted(f"{message} ({code})", hint, ": ")
