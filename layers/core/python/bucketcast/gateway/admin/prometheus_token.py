"""The token of Prometheus: an HS512 JWT, as `mc admin prometheus` makes it."""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from typing import Any, Final

from bucketcast.users import User
from bucketcast.web.authentication import FindAccount
from bucketcast.web.errors import S3Error

_SCHEME: Final = "bearer "
_LONGEST: Final = 4_096


async def authenticate(authorization: str, find: FindAccount, now: datetime) -> User:
    """Return the user whose token this is.

    Raises:
        S3Error: it is invalid, has expired, or was not signed with the user's secret key.
    """
    if authorization[: len(_SCHEME)].lower() != _SCHEME or len(authorization) > _LONGEST:
        raise S3Error("AccessDenied", "metrics need a bearer token: `mc admin prometheus generate`")
    token = authorization[len(_SCHEME) :].strip()
    signed, _, signature = token.rpartition(".")
    header, _, payload = signed.partition(".")
    claims = _document(payload)
    if _document(header).get("alg") != "HS512" or claims.get("iss") != "prometheus":
        raise S3Error("AccessDenied", "the token is none of HS512 for prometheus")
    account = await find(str(claims.get("sub", "")))
    key = account.secret.encode() if account else b""
    expected = hmac.new(key, signed.encode(), hashlib.sha512).digest()
    if account is None or not hmac.compare_digest(expected, _bytes(signature)):
        raise S3Error("AccessDenied", "the token was not made with this user's secret key")
    expires = claims.get("exp")
    if not isinstance(expires, int | float) or now.timestamp() > expires:
        raise S3Error("AccessDenied", "the token has expired")
    return account.user


def _document(part: str) -> dict[str, Any]:
    try:
        document = json.loads(_bytes(part))
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {}


def _bytes(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""
