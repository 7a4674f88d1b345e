"""Compute Signature Version 4 as S3 does: paths are encoded once.

botocore's signer cannot verify others' signatures: it skips headers that some clients sign, and
does not normalise the query. Hence this module; tests compare it with botocore.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Final
from urllib.parse import quote, unquote_to_bytes

ALGORITHM: Final = "AWS4-HMAC-SHA256"
EMPTY_SHA256: Final = hashlib.sha256().hexdigest()
_BLANKS: Final = re.compile(r" +")
_DATE: Final = 8
_KEYS: Final = 256


def path(raw_path: str) -> str:
    """Return a path as S3 encodes it: everything but unreserved characters and slashes, once."""
    return quote(unquote_to_bytes(raw_path), safe="/-_.~")


def query(pairs: Iterable[tuple[str, str]], *, by_value: bool = True) -> str:
    """Return a query as S3 encodes and sorts it; a `+` is a blank.

    Without `by_value` the values of a name keep their order, as minio-go signs them.
    """
    encoded = [(_query_part(name), _query_part(value)) for name, value in pairs]
    encoded.sort(key=None if by_value else itemgetter(0))
    return "&".join(f"{name}={value}" for name, value in encoded)


def request(
    method: str,
    canonical_path: str,
    canonical_query: str,
    headers: Mapping[str, str],
    signed: Iterable[str],
    payload: str,
) -> str:
    """Return the canonical request; `signed` are header names in lower case, in their order."""
    names = list(signed)
    lines = [f"{name}:{_BLANKS.sub(' ', headers.get(name, '').strip())}\n" for name in names]
    parts = [method, canonical_path, canonical_query, "".join(lines), ";".join(names), payload]
    return "\n".join(parts)


def scope(timestamp: str, region: str, service: str) -> str:
    """Return the scope of a key: one day, one region, one service."""
    return f"{timestamp[:_DATE]}/{region}/{service}/aws4_request"


def string_to_sign(timestamp: str, key_scope: str, canonical_request: str) -> str:
    """Return the string to sign."""
    digest = hashlib.sha256(canonical_request.encode()).hexdigest()
    return f"{ALGORITHM}\n{timestamp}\n{key_scope}\n{digest}"


@lru_cache(maxsize=_KEYS)
def key(secret: str, key_scope: str) -> bytes:
    """Derive the signing key of a scope from a user's secret; cached, as it is valid for a day.

    The cache lets no removed account in: the secret is looked up first.
    """
    derived = f"AWS4{secret}".encode()
    for part in key_scope.split("/"):
        derived = hmac.digest(derived, part.encode(), "sha256")
    return derived


def signature(signing_key: bytes, string_to_sign: str) -> str:
    """Return the signature, in hexadecimal digits."""
    return hmac.digest(signing_key, string_to_sign.encode(), "sha256").hex()


def _query_part(part: str) -> str:
    return quote(unquote_to_bytes(part.replace("+", " ")), safe="-_.~")
