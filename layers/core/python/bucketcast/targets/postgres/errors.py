"""Errors of the client as delivery errors, by the list of `answers`."""

from collections.abc import Mapping

from bucketcast.errors import DeliveryError
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.postgres.answers import ANSWERS


def sqlstate(error: BaseException) -> str:
    """Return the server's code of the error; "" if the error is not the server's."""
    return str(_fields(error).get("C", ""))


def delivery_error(error: BaseException, where: str, *, connecting: bool = False) -> DeliveryError:
    """Translate an error of the client or of its socket."""
    if code := sqlstate(error):
        text = " ".join(str(_fields(error).get("M", "")).split())
        return ANSWERS.error(where, f"{text} ({code})", (code, code[:2]), connecting=connecting)
    # pg8000 hides the socket's error, or the end of the connection, behind one of its own.
    cause = error.__cause__ or error
    text = str(cause).replace("network error", "the server closed the connection")
    return ANSWERS.error(where, text or repr(cause), codes_of(cause), connecting=connecting)


def _fields(error: BaseException) -> Mapping[str, str]:
    """Return the fields of an ErrorResponse."""
    (*_, last) = (None, *error.args)
    return last if isinstance(last, dict) else {}
