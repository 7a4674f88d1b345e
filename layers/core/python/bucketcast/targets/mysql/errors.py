"""Errors of the client as delivery errors, by the list of `answers`."""

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import iam
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.mysql.answers import ANSWERS

LOCK_WAIT_TIMEOUT = 1205
PARSE_ERROR = 1064
_LOGIN = (
    "another password, from another host, over TLS (tls=true in dsn_string) or with a client_cert?"
)


def number(error: BaseException) -> int:
    """Return the error's number; 0 if the client library gave it none."""
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def delivery_error(
    error: BaseException, where: str, *, connecting: bool = False, by_iam: bool = False
) -> DeliveryError:
    """Translate an error of the client or of its socket."""
    code = number(error)
    text = " ".join(str(error.args[-1] if error.args else error).split())
    codes: tuple[str, ...] = codes_of(error)
    if code and "MySQLError" in codes:
        text, codes = f"{text} ({code})", (str(code),)
    text = text or "the server closed the connection"
    login = iam.HINT if by_iam else _LOGIN
    return ANSWERS.error(where, text, codes, connecting=connecting, login=login)
