"""Verify bodies while they stream: pieces pass at once, and the end confirms them.

The caller holds back a body's last piece until `finish` has returned, so that no complete body
reaches S3 that is not what was signed.
"""

import hashlib
import hmac
import re
from typing import Final

from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest, byte_count
from bucketcast.web.signature.chunked import Chunked, Chunks
from bucketcast.web.signature.claims import UNSIGNED, Claim

_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
_SIGNED: Final = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_TRAILER: Final = "-TRAILER"
_UNSIGNED_CHUNKS: Final = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


class Plain:
    """A plain body, compared with its SHA-256 if that is signed.

    `length` is the content's, None if unknown; `digest` is the expected hash, or S3's word for an
    unsigned body.

    Raises:
        S3Error: in `finish`: it differs, or is shorter than announced.
    """

    def __init__(self, digest: str, length: int | None) -> None:
        self.length = length
        self.digest = digest
        self.trailers = b""
        self._hash = None if digest == UNSIGNED else hashlib.sha256()
        self._seen = 0

    def feed(self, data: bytes) -> bytes:
        self._seen += len(data)
        if self._hash is not None:
            self._hash.update(data)
        return data

    def finish(self) -> None:
        if self.length is not None and self._seen != self.length:
            raise S3Error("IncompleteBody")
        if self._hash is not None:
            computed = self._hash.hexdigest()
            if not hmac.compare_digest(computed, self.digest.lower()):
                raise S3Error(
                    "XAmzContentSHA256Mismatch",
                    ClientComputedContentSHA256=self.digest,
                    S3ComputedContentSHA256=computed,
                )


Payload = Plain | Chunked
"""The verifier of one body."""


def verifier(call: RawRequest, claim: Claim, key: bytes) -> Payload:
    """Return the verifier of a request's body, by its signature.

    Raises:
        S3Error: the kind of signature is unknown, or a length is missing or no number.
    """
    kind = claim.payload
    length = _number(call.headers.get("content-length"), "Content-Length")
    if kind == UNSIGNED or _HEX.fullmatch(kind):
        return Plain(kind, length)
    is_signed = kind.removesuffix(_TRAILER) == _SIGNED
    if not is_signed and kind != _UNSIGNED_CHUNKS:
        raise S3Error(
            "InvalidArgument",
            "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a "
            "valid sha256 value.",
        )
    decoded = _number(call.headers.get("x-amz-decoded-content-length"), "decoded length")
    if decoded is None:
        raise S3Error("MissingContentLength", "x-amz-decoded-content-length is missing")
    announced = [
        name.strip().lower() for name in call.headers.get("x-amz-trailer", "").split(",") if name
    ]
    chain = Chunks(key, claim.timestamp, claim.scope, claim.signature) if is_signed else None
    return Chunked(decoded, chain, announced if kind.endswith(_TRAILER) else None)


def _number(value: str | None, name: str) -> int | None:
    if value is None:
        return None
    count = byte_count(value)
    if count is None:
        raise S3Error(
            "InvalidArgument", f"{name} is {value[:40]!r}, which is not a number of bytes"
        )
    return count
