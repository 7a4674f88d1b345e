"""What the server answers that is no success, as an outcome that says what to do."""

import re
from collections.abc import Mapping

import msgspec

from bucketcast.display import redacted_url
from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
)

PAUSE = 5.0
"""Seconds after a 429 that names none: its queues are full, which is a matter of seconds."""
LONGEST_PAUSE = 900
CONFLICT, TOO_LARGE, TOO_MANY = 409, 413, 429
BLOCKED = (
    "make room on its disks, or take the block away (index.blocks.* set to null): nothing is lost"
)
LOGIN = (
    "see the login (in url, username with password, api_key or iam_resource), and what it may do"
)
CERTIFICATE = "the server wants a client certificate that it trusts: see client_cert, client_key"
_MAPPING = re.compile(
    "mapper_parsing_exception|document_parsing_exception|strict_dynamic_mapping_exception"
    r"|illegal_argument_exception: (mapper \[|Limit of |Document contains)"
)
"""What the mapping of the index says of a document that it does not fit, in any version."""


class Missing(Retryable):
    """An index that was there is gone; it is made again with the next try."""


class Error(msgspec.Struct):
    """An error as both products word it."""

    type: str = ""
    reason: str | None = ""

    def __str__(self) -> str:
        return f"{self.type}: {self.reason or ''}"


class _Answer(msgspec.Struct):
    error: Error


def of_document(status: int, error: Error) -> DeliveryError:
    """Return why one document was not written; status 0 where it was not read."""
    found = str(error)
    if status == TOO_LARGE:
        return Rejected(f"the event is larger than the server takes ({found})")
    if _MAPPING.match(found):
        return Rejected(found)
    return _of_either(status, error, found, PAUSE) or Retryable(found)


def of_answer(status: int, headers: Mapping[str, str], body: bytes, where: str) -> DeliveryError:
    """Return what an answer says that is about the whole request."""
    error = _error(body)
    reason = f"{where} answered {status}: {error}"
    if status == 400 and "SSL certificate" in reason:  # noqa: PLR2004 - as nginx says it
        return NotAuthorized(f"{reason}; {CERTIFICATE}")
    said = headers.get("Retry-After", "")
    after = min(float(said), LONGEST_PAUSE) if said.isdecimal() else PAUSE
    if status == 503 and said.isdecimal():  # noqa: PLR2004 - asks for a pause
        return Throttled(reason, after)
    if status in (502, 503):  # a proxy whose server is away, or a cluster without its master
        return NotConnected(reason)
    if status == 504:  # noqa: PLR2004 - a proxy whose server is slow
        return TimedOut(reason)
    moved = f"; set url to {redacted_url(headers['Location'])}" if "Location" in headers else ""
    return _of_either(status, error, reason, after) or Retryable(reason + moved)


def _of_either(status: int, error: Error, reason: str, after: float) -> DeliveryError | None:
    if error.type == "cluster_block_exception":
        return Retryable.hinted(reason, BLOCKED, " ")
    if error.type == "index_not_found_exception":
        return Missing(reason)
    if status in (401, 403) or error.type == "security_exception":
        return NotAuthorized.hinted(reason, LOGIN)
    return Throttled(reason, after) if status == TOO_MANY else None


def of_connection(error: Exception, where: str) -> DeliveryError:
    """Return what it means that there was no answer."""
    found = str(error)
    if " alert " in found:  # by which TLS refuses a certificate
        return NotAuthorized(f"{where}: {found}; {CERTIFICATE}")
    if "EOF occurred" in found:  # by which it may have refused one, or ended
        return NotConnected(f"{where}: {found}; perhaps {CERTIFICATE}")
    if "CERTIFICATE_VERIFY_FAILED" in found:
        hint = "set cert_authority to the authority that signed the server's certificate, and "
        return NotConnected(f"{where}: {found}; {hint}url to a name that stands in it")
    kind = TimedOut if "timed out" in found else NotConnected
    return kind(
        f"{where}: {found}; is url right, does its network let this function in, and does its "
        "scheme (http, https) suit the port?"
    )


def _error(body: bytes) -> Error:
    try:
        return msgspec.json.decode(body, type=_Answer).error
    except msgspec.DecodeError:  # a proxy's page, or an error in one word
        text = re.sub(r"<[^>]*>", " ", body[:2000].decode(errors="replace"))
        return Error("no JSON", " ".join(text.split())[:300])
