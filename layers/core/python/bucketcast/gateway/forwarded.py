"""The query and the headers of a call as S3 gets them, which is signed anew in its headers."""

import re
from typing import Final
from urllib.parse import unquote_plus

from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import RequestBody
from bucketcast.web.signature.chunked import Chunked

_REPLACED: Final = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "date",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-decoded-content-length",
        "x-amz-security-token",
    }
)
_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_IN_QUERY: Final = frozenset(
    f"X-Amz-{name}"
    for name in (
        "Algorithm",
        "Content-Sha256",
        "Credential",
        "Date",
        "Expires",
        "Security-Token",
        "Signature",
        "SignedHeaders",
    )
)


def forwarded_query(call: RawRequest) -> str:
    """Return the query without the signature, and without the headers of a presigned call."""
    dropped = {*_IN_QUERY, *_presigned(call)}
    parts = ((part, unquote_plus(part.partition("=")[0])) for part in call.query.split("&"))
    return "&".join(part for part, name in parts if name not in dropped)


def forwarded_headers(
    call: RawRequest, body: RequestBody, length: int | None, *, framed: bool
) -> dict[str, str]:
    """Return the headers of a call for S3; a `framed` body is sent on in chunks.

    Raises:
        S3Error: a header in a presigned query cannot be one.
    """
    presigned = {name.lower(): value for name, value in _presigned(call).items()}
    given = {**presigned, **call.headers}
    forwarded = {name: value for name, value in given.items() if name not in _REPLACED}
    if isinstance(body.payload, Chunked):
        encodings = [part.strip() for part in forwarded.pop("content-encoding", "").split(",")]
        encodings = [part for part in encodings if part and part != "aws-chunked"]
        if framed:
            encodings.insert(0, "aws-chunked")
        if encodings:
            forwarded["content-encoding"] = ",".join(encodings)
    if framed:
        forwarded["x-amz-content-sha256"] = Chunked.digest
        forwarded["x-amz-decoded-content-length"] = str(body.payload.length)
        return forwarded
    forwarded.pop("x-amz-trailer", None)
    forwarded["x-amz-content-sha256"] = (
        "UNSIGNED-PAYLOAD" if isinstance(body.payload, Chunked) else body.payload.digest
    )
    if length or call.method in ("PUT", "POST"):
        forwarded["content-length"] = str(length)
    return forwarded


def _presigned(call: RawRequest) -> dict[str, str]:
    """Return the headers that a presigned call has in its query, by their names there.

    S3 takes them from there in presigned calls only, and this one is signed in its headers.

    Raises:
        S3Error: one cannot be a header.
    """
    if "X-Amz-Signature" not in call.params:
        return {}
    names = [name for name in call.params if name.lower().startswith("x-amz-")]
    headers = {name: ",".join(call.params[name]) for name in names if name not in _IN_QUERY}
    if not all(map(_NAME.fullmatch, headers)) or not all(map(str.isprintable, headers.values())):
        raise S3Error("InvalidArgument", "a header in the query has no valid name or value")
    return headers
