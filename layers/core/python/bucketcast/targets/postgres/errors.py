"""Translate SQLSTATEs into delivery errors with hints."""

from collections.abc import Mapping

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)
from bucketcast.targets.base import iam

_ROW_ERRORS = ("22", "23", "54", "P0", "55P03")
"""Errors and classes of errors that concern a row, not the whole batch; the last is a lock."""
_READ_ONLY = (
    "the server takes no writes: list all hosts in connection_string, and "
    "target_session_attrs=read-write finds the one that does"
)
_OUTCOMES: Mapping[str, tuple[type[DeliveryError], str]] = {
    "08": (NotConnected, ""),
    "22": (Rejected, ""),
    "23": (Rejected, ""),
    "23505": (Retryable, "drop the unique index"),
    "25006": (NotConnected, _READ_ONLY),
    "25P03": (NotConnected, ""),
    "28": (NotAuthorized, ""),
    "3D": (NotConnected, "make the database, or name another in connection_string"),
    "3F": (Retryable, "make the schema, or set search_path in connection_string's options"),
    "42": (Retryable, "the table, or the guard beside it, is not as the target makes it"),
    "42501": (Retryable, "grant it to the user of connection_string"),
    "42704": (NotConnected, "leave it out of connection_string"),
    "42601": (Retryable, 'put the table\'s name in "quotes" if it is a word of SQL'),
    "53300": (NotConnected, "lower max_open_connections, or let the server take more"),
    "54": (Rejected, ""),
    "55P03": (TimedOut, "another session holds a lock for long"),
    "57": (NotConnected, ""),
    "57014": (TimedOut, "the server is overloaded, or another session holds a lock for long"),
}
"""The delivery error of a SQLSTATE, or of its class, and its hint; others are `Retryable`."""


def sqlstate(error: Exception) -> str:
    """Return the server's code of the error; "" if the error is not the server's."""
    return str(_fields(error).get("C", ""))


def is_about_a_row(error: Exception) -> bool:
    """Return True if the server refused a row, or waited for one that is locked."""
    return sqlstate(error).startswith(_ROW_ERRORS)


def delivery_error(error: Exception) -> DeliveryError:
    """Translate an error of the client or of its socket."""
    code = sqlstate(error)
    if not code:
        # pg8000 hides the socket's error, or the end of the connection, behind one of its own.
        message = str(error.__cause__ or error)
        message = message.replace("network error", "the server closed the connection")
        if " alert " in message:  # TLS refused the client's certificate
            return NotAuthorized(f"{message}: the server asks for a client_cert that it trusts")
        return NotConnected(message)
    message = " ".join(str(_fields(error).get("M", "")).split())
    if "PAM" in message:  # RDS checks tokens by PAM
        return NotAuthorized.hinted(message, iam.HINT)
    kind, hint = _OUTCOMES.get(code) or _OUTCOMES.get(code[:2]) or (Retryable, "")
    return kind.hinted(f"{message} ({code})", hint, ": ")


def _fields(error: Exception) -> Mapping[str, str]:
    """Return the fields of an ErrorResponse."""
    (*_, last) = (None, *error.args)
    return last if isinstance(last, dict) else {}
