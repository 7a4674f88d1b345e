"""What a SQLSTATE means, as an error that says what to do."""

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

ABOUT_A_ROW = ("22", "23", "54", "P0")
"""Classes of errors that are about a row of a batch, and not about the batch."""
_READ_ONLY = (
    "the server takes no writes: with all hosts and target_session_attrs=read-write in "
    "connection_string the one that does is found"
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
        "57014": (TimedOut, "the server is overloaded, or somebody holds a lock for long"),
    }
)
"""What a SQLSTATE, or its class, means here, and its hint; all others are `Retryable`."""
_about_login = re.compile(
    r"authentication|password|pg_hba|role .+ does not exist|client certificate"
).search
_about_time = re.compile(r"timed out|timeout expired").search


def delivery_error(error: "psycopg.Error") -> DeliveryError:
    """Return what an error of the client means; libpq gives no SQLSTATE to one while connecting."""
    code = error.sqlstate
    text = " ".join((error.diag.message_primary or str(error)).split())
    if not code:
        if " alert " in text:  # by which TLS refuses a client's certificate
            return NotAuthorized(f"{text}: the server asks for a client_cert that it trusts")
        if "PAM" in text:  # by which RDS checks tokens
            return NotAuthorized.hinted(text, iam.HINT)
        if _about_login(text):
            return NotAuthorized(text)
        return TimedOut(text) if _about_time(text) else NotConnected(text)
    kind, hint = _OUTCOMES.get(code) or _OUTCOMES.get(code[:2]) or (Retryable, "")
    return kind.hinted(f"{text} ({code})", hint, ": ")
