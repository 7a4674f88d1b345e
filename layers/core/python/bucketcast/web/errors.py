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

# Code -> its usual message, which a call may replace.
_MESSAGES: Final[Mapping[str, str]] = {
    "AccessDenied": "Access Denied.",
    "AuthorizationHeaderMalformed": "The authorization header is malformed.",
    "AuthorizationQueryParametersError": "Error parsing the X-Amz-Credential parameter.",
    "EventsLost": "The listener did not read, and events were lost.",
    "EntityTooLarge": "Your proposed upload exceeds the maximum allowed object size.",
    "IncompleteBody": (
        "You did not provide the number of bytes specified by the Content-Length HTTP header."
    ),
    "InternalError": "We encountered an internal error, please try again.",
    "InvalidAccessKeyId": "The Access Key Id you provided does not exist in our records.",
    "InvalidArgument": "Invalid Argument",
    "InvalidBucketName": "The specified bucket is not valid.",
    "InvalidRequest": "Invalid Request",
    "InvalidURI": "Couldn't parse the specified URI.",
    "MalformedXML": (
        "The XML you provided was not well-formed or did not validate against our published schema."
    ),
    "MethodNotAllowed": "The specified method is not allowed against this resource.",
    "MissingContentLength": "You must provide the Content-Length HTTP header.",
    "NoSuchBucket": "The specified bucket does not exist",
    "NoSuchKey": "The specified key does not exist.",
    "NotImplemented": "A header you provided implies functionality that is not implemented",
    "OperationAborted": (
        "A conflicting conditional operation is currently in progress against this resource. "
        "Please try again."
    ),
    "RequestTimeTooSkewed": (
        "The difference between the request time and the server's time is too large."
    ),
    "RequestTimeout": (
        "Your socket connection to the server was not read from or written to within the timeout "
        "period."
    ),
    "ServiceUnavailable": "Please reduce your request rate, or try again later.",
    "SignatureDoesNotMatch": (
        "The request signature we calculated does not match the signature you provided. Check "
        "your key and signing method."
    ),
    "SlowDown": "Please reduce your request rate.",
    "TooManyListeners": "There are as many listeners as there may be.",
    "UnsupportedNotification": (
        "MinIO server does not support Topic or Cloud Function based notifications."
    ),
    "XMinioAdminConfigBadJSON": "The configuration cannot be read.",
    "XAmzContentSHA256Mismatch": (
        "The provided 'x-amz-content-sha256' header does not match what was computed."
    ),
}
# The status of a code; of the others it is 400.
_STATUSES: Final[Mapping[str, HTTPStatus]] = {
    "AccessDenied": HTTPStatus.FORBIDDEN,
    "EventsLost": HTTPStatus.GONE,
    "InternalError": HTTPStatus.INTERNAL_SERVER_ERROR,
    "InvalidAccessKeyId": HTTPStatus.FORBIDDEN,
    "MethodNotAllowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "MissingContentLength": HTTPStatus.LENGTH_REQUIRED,
    "NoSuchBucket": HTTPStatus.NOT_FOUND,
    "NoSuchKey": HTTPStatus.NOT_FOUND,
    "NotImplemented": HTTPStatus.NOT_IMPLEMENTED,
    "OperationAborted": HTTPStatus.CONFLICT,
    "RequestTimeTooSkewed": HTTPStatus.FORBIDDEN,
    "ServiceUnavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "SignatureDoesNotMatch": HTTPStatus.FORBIDDEN,
    "SlowDown": HTTPStatus.SERVICE_UNAVAILABLE,
}


class S3Error(BucketcastError):
    """An error response; `more` are further elements."""

    def __init__(self, code: str, message: str = "", **more: str) -> None:
        self.code = code
        self.status = _STATUSES.get(code, HTTPStatus.BAD_REQUEST)
        usual = _MESSAGES[code]
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
