"""Errors in S3's format: a code, a status, a message, and further elements.

Codes, statuses and messages are S3's where S3 has them, else MinIO's.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from bucketcast.errors import BucketcastError, Busy
from bucketcast.telemetry import logger

_HOST_ID: Final = "bucketcast"
"""S3's errors end with one; SDKs show it."""
_BAD: Final = HTTPStatus.BAD_REQUEST
_FORBIDDEN: Final = HTTPStatus.FORBIDDEN

# Code -> its status and its message, which a call may replace.
_ERRORS: Final[Mapping[str, tuple[HTTPStatus, str]]] = {
    "AccessDenied": (_FORBIDDEN, "Access Denied."),
    "AuthorizationHeaderMalformed": (_BAD, "The authorization header is malformed."),
    "AuthorizationQueryParametersError": (_BAD, "Error parsing the X-Amz-Credential parameter."),
    "EventsLost": (HTTPStatus.GONE, "The listener did not read, and events were lost."),
    "EntityTooLarge": (_BAD, "Your proposed upload exceeds the maximum allowed object size."),
    "IncompleteBody": (
        _BAD,
        "You did not provide the number of bytes specified by the Content-Length HTTP header.",
    ),
    "InternalError": (
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "We encountered an internal error, please try again.",
    ),
    "InvalidAccessKeyId": (
        _FORBIDDEN,
        "The Access Key Id you provided does not exist in our records.",
    ),
    "InvalidArgument": (_BAD, "Invalid Argument"),
    "InvalidBucketName": (_BAD, "The specified bucket is not valid."),
    "InvalidRequest": (_BAD, "Invalid Request"),
    "InvalidURI": (_BAD, "Couldn't parse the specified URI."),
    "MalformedXML": (
        _BAD,
        (
            "The XML you provided was not well-formed or did not validate against our published "
            "schema."
        ),
    ),
    "MethodNotAllowed": (
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The specified method is not allowed against this resource.",
    ),
    "MissingContentLength": (
        HTTPStatus.LENGTH_REQUIRED,
        "You must provide the Content-Length HTTP header.",
    ),
    "NoSuchBucket": (HTTPStatus.NOT_FOUND, "The specified bucket does not exist"),
    "NoSuchKey": (HTTPStatus.NOT_FOUND, "The specified key does not exist."),
    "NotImplemented": (
        HTTPStatus.NOT_IMPLEMENTED,
        "A header you provided implies functionality that is not implemented",
    ),
    "OperationAborted": (
        HTTPStatus.CONFLICT,
        (
            "A conflicting conditional operation is currently in progress against this resource. "
            "Please try again."
        ),
    ),
    "RequestTimeTooSkewed": (
        _FORBIDDEN,
        "The difference between the request time and the server's time is too large.",
    ),
    "RequestTimeout": (
        _BAD,
        (
            "Your socket connection to the server was not read from or written to within the "
            "timeout period."
        ),
    ),
    "ServiceUnavailable": (
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Please reduce your request rate, or try again later.",
    ),
    "SignatureDoesNotMatch": (
        _FORBIDDEN,
        (
            "The request signature we calculated does not match the signature you provided. Check "
            "your key and signing method."
        ),
    ),
    "SlowDown": (HTTPStatus.SERVICE_UNAVAILABLE, "Please reduce your request rate."),
    "TooManyListeners": (_BAD, "There are as many listeners as there may be."),
    "UnsupportedNotification": (
        _BAD,
        "MinIO server does not support Topic or Cloud Function based notifications.",
    ),
    "XMinioAdminConfigBadJSON": (_BAD, "The configuration cannot be read."),
    "XAmzContentSHA256Mismatch": (
        _BAD,
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    ),
}


class S3Error(BucketcastError):
    """An error response; `more` are further elements."""

    def __init__(self, code: str, message: str = "", **more: str) -> None:
        self.status, usual = _ERRORS[code]
        self.code = code
        self.message = message or usual
        self.more = more
        super().__init__(f"{code}: {self.message}")

    def elements(self, resource: str, request_id: str) -> dict[str, str]:
        """Return the elements of the response's body."""
        return {
            "Code": self.code,
            "Message": self.message,
            **self.more,
            "Resource": resource,
            "RequestId": request_id,
            "HostId": _HOST_ID,
        }


def as_s3_error(error: Exception, request_id: str) -> S3Error:
    """Return the error for the client; details of AWS's errors and ours are only logged."""
    if isinstance(error, S3Error):
        return error
    if isinstance(error, Busy):
        return S3Error("ServiceUnavailable", str(error))
    if isinstance(error, BucketcastError):
        logger.error("AWS cannot be reached", reason=str(error), request_id=request_id)
        return S3Error("ServiceUnavailable")
    logger.error("internal error", exc_info=error, request_id=request_id)
    return S3Error("InternalError")
