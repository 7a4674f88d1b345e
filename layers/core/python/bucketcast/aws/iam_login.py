"""IAM logins to AWS's databases and brokers, signed with this process's credentials.

RDS, ElastiCache, MemoryDB and MSK take the URL of a request that was signed and never sent, for 15
minutes at most, and no longer than the credentials that signed it. OpenSearch takes requests signed
one by one, IoT Core a websocket whose opening is signed. Signing needs no network.

Source: AWS Signature Version 4, with query parameters and with headers; "IAM database
authentication" of RDS, "Authenticating with IAM" of ElastiCache and MemoryDB, and the documented
form of MSK's token.
"""

import logging
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from bucketcast.errors import NotAuthorized
from bucketcast.settings.types import Secret

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from botocore.session import Session

TOKEN_SECONDS = 900
"""The lifetime that these services expect of a token."""


class Token(NamedTuple):
    """The signed URL without its scheme, and when it expires, in Unix seconds."""

    text: Secret
    expires: float


def token(service: str, region: str, host: str, query: Mapping[str, str]) -> Token:
    """Return a GET request for `https://host/?query`, signed; `host` may have a port.

    Raises:
        NotAuthorized: there are no credentials, or they cannot be refreshed.
    """
    frozen, end = _credentials()
    url = _signed_url(frozen, service, region, f"https://{host}/", query)
    expires = min(time.time() + TOKEN_SECONDS, end)
    return Token(Secret(url.removeprefix("https://")), expires)


def websocket_path(service: str, region: str, host: str, path: str) -> str:
    """Return a path with the query that signs a GET of `https://host/path`; it holds a login.

    IoT Core wants the session's token after the signature, which does not cover it.

    Raises:
        NotAuthorized: there are no credentials, or they cannot be refreshed.
    """
    frozen, _ = _credentials()
    url = _signed_url(frozen._replace(token=None), service, region, f"https://{host}{path}", {})
    token = f"&X-Amz-Security-Token={quote(frozen.token, safe='')}" if frozen.token else ""
    return url.removeprefix(f"https://{host}") + token


def signed_headers(
    service: str,
    region: str,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> dict[str, str]:
    """Return the headers of a request, with those that sign it.

    Raises:
        NotAuthorized: there are no credentials, or they cannot be refreshed.
    """
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - as above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    frozen, _ = _credentials()
    request = AWSRequest(method, url, data=body or b"", headers=dict(headers))
    signer = SigV4Auth(frozen, service, region)
    # OpenSearch Serverless wants the hash as a header, and the domains take it.
    request.headers["X-Amz-Content-SHA256"] = signer.payload(request)
    signer.add_auth(request)
    return dict(request.headers.items())


def _signed_url(
    keys: "ReadOnlyCredentials", service: str, region: str, url: str, query: Mapping[str, str]
) -> str:
    from botocore.auth import SigV4QueryAuth  # noqa: PLC0415 - only targets with such a login
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    request = AWSRequest("GET", url, params=dict(query))
    SigV4QueryAuth(keys, service, region, expires=TOKEN_SECONDS).add_auth(request)
    return str(request.prepare().url)


def _credentials() -> "tuple[ReadOnlyCredentials, float]":
    """Return the credentials and when they expire; `inf` where that is not known."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    try:
        credentials: Any = _session().get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials else None
    except (BotoCoreError, ClientError) as error:
        raise NotAuthorized(f"no AWS credentials to sign the login with: {error}") from None
    if frozen is None:
        raise NotAuthorized(
            "no AWS credentials to sign the login with: the function's role has them on AWS; "
            "elsewhere set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    expiry = getattr(credentials, "_expiry_time", None)
    return frozen, expiry.timestamp() if expiry else float("inf")


@cache
def _session() -> "Session":
    import botocore.session  # noqa: PLC0415 - as above

    # At DEBUG it logs signatures and the signed text, which together are the login.
    logging.getLogger("botocore.auth").setLevel(logging.INFO)
    return botocore.session.get_session()
