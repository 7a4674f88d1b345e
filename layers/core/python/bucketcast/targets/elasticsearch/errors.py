"""Translate unsuccessful responses into delivery errors with hints."""

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

DEFAULT_PAUSE = 5.0
"""Seconds after a 429 without Retry-After: its queues are full, which takes seconds."""
MAX_PAUSE = 900
CONFLICT, TOO_LARGE, TOO_MANY = 409, 413, 429
BLOCKED = (
    "free space on its disks, or take the block away (index.blocks.* set to null): nothing is lost"
)
LOGIN = (
    "see the login (in url, username with password, api_key or iam_resource), and what it may do"
)
CERTIFICATE = "the server wants a client certificate that it trusts: see client_cert, client_key"
_MAPPING = re.compile(
    "mapper_parsing_exception|document_parsing_exception|strict_dynamic_mapping_exception"
    r"|illegal_argument_exception: (mapper \[|Document contains)"
)
"""The errors of a document that does not fit the index's mapping, in any version."""
_FULL = "Limit of total fields"
"""In the cause, if not the document is at fault but the index, whose limit can be raised."""
_NO_JSON = "no JSON"
_NOBODY = frozenset(
    {
        _NO_JSON,  # a proxy whose server is away
        "cluster_block_exception",
        "cluster_manager_not_discovered_exception",
        "master_not_discovered_exception",
    }
)
"""The types of a 502 or 503 when the whole cluster cannot answer.

Others, such as `search_phase_execution_exception`, are about a shard that is just starting.
"""


class Missing(Retryable):
    """An index that existed is missing; the next attempt creates it again."""


class Error(msgspec.Struct):
    """An error in a response of either product."""

    type: str = ""
    reason: str | None = ""
    caused_by: "Error | None" = None

    def __str__(self) -> str:
        return f"{self.type}: {self.reason or ''}"


class _ErrorBody(msgspec.Struct):
    error: Error


def of_document(status: int, error: Error) -> DeliveryError:
    """Return the error of one document that was not written; status 0 if it was not read."""
    message = str(error)
    if status == TOO_LARGE:
        return Rejected.anywhere(f"the event is larger than the server takes ({message})")
    if _MAPPING.match(message) and _FULL not in f"{message} {error.caused_by}":
        return Rejected(message)
    return _common_error(status, error, message, DEFAULT_PAUSE) or Retryable(message)


def of_response(status: int, headers: Mapping[str, str], body: bytes, where: str) -> DeliveryError:
    """Return the error of a response to the whole request."""
    error = _parse_error(body)
    reason = f"{where} answered {status}: {error}"
    if status == 400 and "SSL certificate" in reason:  # noqa: PLR2004 - nginx's status
        return NotAuthorized(f"{reason}; {CERTIFICATE}")
    retry_after = headers.get("Retry-After", "")
    after = min(float(retry_after), MAX_PAUSE) if retry_after.isdecimal() else DEFAULT_PAUSE
    if status == 503 and retry_after.isdecimal():  # noqa: PLR2004 - asks for a pause
        return Throttled(reason, after)
    if status in (502, 503) and error.type in _NOBODY:
        return NotConnected(reason)
    if status == 504:  # noqa: PLR2004 - a proxy whose server is slow
        return TimedOut(reason)
    redirect = f"; set url to {redacted_url(headers['Location'])}" if "Location" in headers else ""
    return _common_error(status, error, reason, after) or Retryable(reason + redirect)


def _common_error(status: int, error: Error, reason: str, after: float) -> DeliveryError | None:
    if error.type == "cluster_block_exception":
        return Retryable.hinted(reason, BLOCKED, " ")
    if error.type == "index_not_found_exception":
        return Missing(reason)
    if status in (401, 403) or error.type == "security_exception":
        return NotAuthorized.hinted(reason, LOGIN)
    return Throttled(reason, after) if status == TOO_MANY else None


def of_connection(error: Exception, where: str) -> DeliveryError:
    """Return the error of a request without a response."""
    message = str(error)
    if " alert " in message:  # TLS refused the client's certificate
        return NotAuthorized(f"{where}: {message}; {CERTIFICATE}")
    if "EOF occurred" in message:  # it may have refused a certificate, or ended
        return NotConnected(f"{where}: {message}; perhaps {CERTIFICATE}")
    if "CERTIFICATE_VERIFY_FAILED" in message:
        hint = "set cert_authority to the authority that signed the server's certificate, and "
        return NotConnected(f"{where}: {message}; {hint}url to a name in it")
    kind = TimedOut if "timed out" in message else NotConnected
    return kind(
        f"{where}: {message}; is url right, does its network let this function in, and does its "
        "scheme (http, https) suit the port?"
    )


def _parse_error(body: bytes) -> Error:
    try:
        return msgspec.json.decode(body, type=_ErrorBody).error
    except msgspec.DecodeError:  # a proxy's page, or an error in one word
        page = re.sub(r"<[^>]*>", " ", body[:2000].decode(errors="replace"))
        return Error(_NO_JSON, " ".join(page.split())[:300])
