"""Errors of calls about topics, with Ceph's codes and their HTTP status."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from bucketcast.errors import BucketcastError

STATUS: Final[Mapping[str, HTTPStatus]] = {
    "AccessDenied": HTTPStatus.FORBIDDEN,
    "AuthorizationError": HTTPStatus.FORBIDDEN,
    "InvalidArgument": HTTPStatus.BAD_REQUEST,
    "MalformedPolicyDocument": HTTPStatus.BAD_REQUEST,
    "MethodNotAllowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "NotFound": HTTPStatus.NOT_FOUND,
    "ServiceUnavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "TopicLimitExceeded": HTTPStatus.FORBIDDEN,
}
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")


class TopicError(BucketcastError):
    """A refused call about topics; `code` is a key of `STATUS`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.status = STATUS[code]
        super().__init__(message)


def invalid(field: str, found: str, allowed: str) -> TopicError:
    """Return the error of an invalid argument; `found` must hold no secret."""
    return TopicError("InvalidArgument", f"{field}: found {found}; allowed is {allowed}")


def require_name(name: str) -> None:
    """Check the name of a new topic.

    Raises:
        TopicError: the name is invalid.
    """
    if not _NAME.fullmatch(name):
        raise invalid("Name", repr(name[:300]), "1 to 256 of A-Z, a-z, 0-9, '_' and '-'")


def topic_not_found(arn: str) -> TopicError:
    """Return the error of a call about a topic that does not exist."""
    return TopicError("NotFound", f"there is no topic {arn}")
