"""Whether a claim holds: its scope, its time, its headers, and the signature itself."""

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.control.signature import canonical
from bucketcast.control.signature.claims import Claim

SKEW: Final = timedelta(minutes=15)
_SIGNATURE: Final = "X-Amz-Signature"


def terms(claim: Claim, now: datetime, regions: Collection[str], services: Collection[str]) -> None:
    """See that a claim is for here and now; the first region is the one to tell.

    Raises:
        S3Error: it is for another region or service, or not for this time.
    """
    if claim.service not in services:
        raise S3Error(
            claim.malformed,
            f'incorrect service "{claim.service}". This endpoint belongs to '
            f'"{next(iter(services))}".',
        )
    if claim.region not in regions:
        expected = next(iter(regions))
        raise S3Error(
            claim.malformed,
            f"The authorization header is malformed; the region '{claim.region}' is wrong; "
            f"expecting '{expected}'",
            Region=expected,
        )
    if claim.expires is None:
        if abs(now - claim.at) > SKEW:
            raise S3Error("RequestTimeTooSkewed", RequestTime=claim.timestamp)
        return
    if claim.at - now > SKEW:
        raise S3Error("AccessDenied", "Request is not valid yet")
    if now > claim.at + timedelta(seconds=claim.expires):
        raise S3Error("AccessDenied", "Request has expired", Expires=str(claim.expires))


def headers(call: Call, claim: Claim) -> None:
    """See that nobody could have added what is not signed.

    Raises:
        S3Error: the host or an `x-amz-` header is not among the signed ones.
    """
    needed = {"host", *(name for name in call.headers if name.startswith("x-amz-"))}
    if claim.expires is not None:
        # The payload's hash stands in the text that is signed, whether as a header or not.
        needed.discard("x-amz-content-sha256")
    if missing := sorted(needed.difference(claim.signed)):
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(missing),
        )


def signature(call: Call, claim: Claim, secret: str) -> bytes:
    """See that the owner of the secret signed this very request; give the key of its scope.

    Raises:
        S3Error: somebody else did, or something was changed on the way.
    """
    key = canonical.key(secret, claim.scope)
    pairs = [(name, value) for name, value in call.pairs if name != _SIGNATURE]
    queries = [canonical.query(pairs)]
    if len({name for name, _ in pairs}) < len(pairs):
        queries.append(canonical.query(pairs, by_value=False))
    # A client that signs its path as sent means the same bytes as one that signs it normalised.
    holds = False
    paths = (canonical.path(call.path), call.path)
    for path, query in dict.fromkeys(product(paths, queries)):
        asked = canonical.request(
            call.method, path, query, call.headers, claim.signed, claim.payload
        )
        computed = canonical.signature(key, canonical.text(claim.timestamp, claim.scope, asked))
        holds |= hmac.compare_digest(computed, claim.signature)
    if not holds:
        raise S3Error("SignatureDoesNotMatch")
    return key
