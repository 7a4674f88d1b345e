"""Verify a claim: its scope, its time, its headers, and its signature."""

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.signature import canonical
from bucketcast.web.signature.claims import Claim

_BY_CLOUDFRONT: Final = "x-amz-cf-id"
"""Added on the way, so no client can sign it."""
SKEW: Final = timedelta(minutes=15)
_SIGNATURE: Final = "X-Amz-Signature"


def terms(claim: Claim, now: datetime, services: Collection[str]) -> None:
    """Check a claim's service and time; any region is accepted, as by MinIO and RGW.

    Raises:
        S3Error: it is for another service, or another time.
    """
    if claim.service not in services:
        raise S3Error(
            claim.malformed,
            f'incorrect service "{claim.service}". This endpoint belongs to '
            f'"{next(iter(services))}".',
        )
    if claim.expires is None:
        if abs(now - claim.at) > SKEW:
            raise S3Error("RequestTimeTooSkewed", RequestTime=claim.timestamp)
        return
    if claim.at - now > SKEW:
        raise S3Error("AccessDenied", "Request is not valid yet")
    if now > claim.at + timedelta(seconds=claim.expires):
        raise S3Error("AccessDenied", "Request has expired", Expires=str(claim.expires))


def headers(call: RawRequest, claim: Claim) -> None:
    """Check that the host and all `x-amz-` headers are signed.

    Raises:
        S3Error: the host or an `x-amz-` header is not among the signed ones.
    """
    needed = {"host", *(name for name in call.headers if name.startswith("x-amz-"))}
    needed.discard(_BY_CLOUDFRONT)
    if claim.expires is not None:
        # The payload's hash is always signed, as a header or not.
        needed.discard("x-amz-content-sha256")
    if missing := sorted(needed.difference(claim.signed)):
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(missing),
        )


def signature(call: RawRequest, claim: Claim, secret: str) -> bytes:
    """Check that the secret's owner signed this request; return the signing key.

    Raises:
        S3Error: another one did, or the request was changed in transit.
    """
    key = canonical.key(secret, claim.scope)
    pairs = [(name, value) for name, value in call.pairs if name != _SIGNATURE]
    queries = [canonical.query(pairs)]
    if len({name for name, _ in pairs}) < len(pairs):
        queries.append(canonical.query(pairs, by_value=False))
    # Clients sign their path as sent or normalised; both are the same bytes.
    holds = False
    paths = (canonical.path(call.path), call.path)
    for path, query in dict.fromkeys(product(paths, queries)):
        canonical_request = canonical.request(
            call.method, path, query, call.headers, claim.signed, claim.payload
        )
        computed = canonical.signature(
            key, canonical.string_to_sign(claim.timestamp, claim.scope, canonical_request)
        )
        holds |= hmac.compare_digest(computed, claim.signature)
    if not holds:
        raise S3Error("SignatureDoesNotMatch")
    return key
