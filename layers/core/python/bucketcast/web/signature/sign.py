"""Sign a call to AWS without botocore: the path stays as it is, and the body may be streamed."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bucketcast.web.signature import canonical


@dataclass(frozen=True, slots=True)
class Credentials:
    """AWS credentials; the secrets are not in the repr."""

    access_key: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


def sign(  # noqa: PLR0913 - the parts of a signature
    method: str,
    path: str,
    query: str,
    headers: MutableMapping[str, str],
    login: Credentials,
    region: str,
    *,
    service: str = "s3",
) -> None:
    """Add the date and the authorization; `host` and `x-amz-content-sha256` must be present."""
    timestamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    headers["x-amz-date"] = timestamp
    if login.token:
        headers["x-amz-security-token"] = login.token
    signed = sorted(
        name for name in headers if name in ("host", "content-md5") or name.startswith("x-amz-")
    )
    scope = canonical.scope(timestamp, region, service)
    pairs = (part.partition("=") for part in query.split("&") if part)
    canonical_request = canonical.request(
        method,
        canonical.path(path),
        canonical.query((name, value) for name, _, value in pairs),
        headers,
        signed,
        headers["x-amz-content-sha256"],
    )
    key = canonical.key(login.secret, scope)
    signature = canonical.signature(
        key, canonical.string_to_sign(timestamp, scope, canonical_request)
    )
    headers["authorization"] = (
        f"{canonical.ALGORITHM} Credential={login.access_key}/{scope}, "
        f"SignedHeaders={';'.join(signed)}, Signature={signature}"
    )
