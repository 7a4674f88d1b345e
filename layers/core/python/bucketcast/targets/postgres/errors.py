"""Errors of the client as delivery errors, by the list of `answers`."""

from bucketcast.errors import DeliveryError
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.postgres.answers import ANSWERS


def delivery_error(error: BaseException, where: str, *, connecting: bool = False) -> DeliveryError:
    """Translate an error of the client or of its socket."""
    fields = error.args[-1] if error.args else None
    if isinstance(fields, dict) and (code := fields.get("C")):  # an ErrorResponse of the server
        text = " ".join(str(fields.get("M", "")).split())
        return ANSWERS.error(where, f"{text} ({code})", (code, code[:2]), connecting=connecting)
    # pg8000 hides the socket's error, or the end of the connection, behind one of its own.
    cause = error.__cause__ or error
    text = str(cause).replace("network error", "the server closed the connection")
    return ANSWERS.error(where, text or repr(cause), codes_of(cause), connecting=connecting)
