"""Translate unsuccessful responses into delivery errors with hints."""

import re
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from bucketcast.display import redacted_url
from bucketcast.errors import DeliveryError, Retryable, Throttled
from bucketcast.limits import LONGEST_DELAY_SECONDS
from bucketcast.targets.elasticsearch.answers import ANSWERS

CONFLICT, TOO_LARGE, TOO_MANY = 409, 413, 429
_NO_JSON = "no JSON"


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
    return _error_of(error.type, status, error, error.type, "")


def of_response(status: int, headers: Mapping[str, str], body: bytes, where: str) -> DeliveryError:
    """Return the error of a response to the whole request."""
    error = _parse_error(body)
    retry_after = headers.get("Retry-After", "")
    asks_for_pause = status in (TOO_MANY, 503) and retry_after.isdecimal()
    location = redacted_url(headers.get("Location", where))
    first = "Retry-After" if asks_for_pause else f"{error.type}/{status}".replace("/502", "/503")
    found = _error_of(f"{where} answered {status}", status, error, first, location)
    if isinstance(found, Throttled) and asks_for_pause:
        found.after = min(float(retry_after), LONGEST_DELAY_SECONDS)
    return found


def _error_of(where: str, status: int, error: Error, first: str, location: str) -> DeliveryError:
    """Return the error by the type of the body, and by the status unless that says too little."""
    text = str(error) if where != error.type else error.reason or ""
    codes = [first, error.type]
    if error.type == _NO_JSON or status < HTTPStatus.INTERNAL_SERVER_ERROR:
        codes.append(str(status))
    cause = f" ({error.caused_by})" if error.caused_by else ""
    found = ANSWERS.error(where, f"{text}{cause}", codes, location=location)
    return Missing(str(found)) if error.type == "index_not_found_exception" else found


def _parse_error(body: bytes) -> Error:
    try:
        return msgspec.json.decode(body, type=_ErrorBody).error
    except ValueError:  # a proxy's page, or an error in one word
        page = re.sub(r"<[^>]*>", " ", body[:2000].decode(errors="replace"))
        return Error(_NO_JSON, " ".join(page.split())[:300])
