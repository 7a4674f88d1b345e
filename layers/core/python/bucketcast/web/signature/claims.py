"""Parse a request's claim: the signer and the signature, from the headers or the query."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.signature.canonical import ALGORITHM

UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_FIELDS: Final = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_CREDENTIAL_PARTS: Final = 5
_LONGEST_SECONDS: Final = 604_800
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_STAMPED: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")


@dataclass(frozen=True, slots=True)
class Claim:
    """A request's claim; `expires` is None if signed in the headers, `payload` is the signed hash.

    `at` is the time of `timestamp`.
    """

    access_key: str
    date: str
    region: str
    service: str
    signed: tuple[str, ...]
    signature: str
    timestamp: str
    at: datetime
    payload: str
    expires: int | None = None

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/aws4_request"

    @property
    def malformed(self) -> str:
        """The error code of a malformed claim."""
        return _malformed(presigned=self.expires is not None)


def parse(call: RawRequest) -> Claim:
    """Return the claim of a request.

    Raises:
        S3Error: it is not signed, signed with Signature Version 2, or malformed.
    """
    header = call.headers.get("authorization")
    presigned = "X-Amz-Algorithm" in call.params or "X-Amz-Signature" in call.params
    if header is not None and presigned:
        raise S3Error(
            "InvalidRequest",
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, or the "
            "Authorization header should be specified",
        )
    if presigned:
        return _parse_query(call)
    if header is None:
        if "AWSAccessKeyId" in call.params:
            raise _version_2()
        raise S3Error("AccessDenied", "the request is not signed: Signature Version 4 is needed")
    if header.startswith("AWS "):
        raise _version_2()
    if not header.startswith(ALGORITHM):
        raise S3Error("InvalidRequest", f"unknown authorization: allowed is {ALGORITHM}")
    return _parse_header(call, header)


def _parse_header(call: RawRequest, header: str) -> Claim:
    fields = _FIELDS.findall(header.removeprefix(ALGORITHM))
    values = dict(fields)
    if len(values) != len(fields) or len(values) != 3:  # noqa: PLR2004 - Credential, SignedHeaders, Signature
        raise S3Error(
            "AuthorizationHeaderMalformed",
            "The authorization header is malformed; it needs Credential, SignedHeaders and "
            "Signature, each once.",
        )
    return _make_claim(
        values["Credential"],
        values["SignedHeaders"],
        values["Signature"],
        _timestamp(call),
        call.headers.get("x-amz-content-sha256", ""),
        None,
    )


def _parse_query(call: RawRequest) -> Claim:
    names = ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")
    values = {name: call.params.get(f"X-Amz-{name}", []) for name in names}
    if invalid := [name for name, texts in values.items() if len(texts) != 1]:
        raise S3Error(
            "AuthorizationQueryParametersError",
            "Query-string authentication version 4 requires the X-Amz-Algorithm, "
            "X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and "
            f"X-Amz-Expires parameters, each once; wrong is X-Amz-{invalid[0]}.",
        )
    algorithm, credential, date, expires, signed, signature = (values[name][0] for name in names)
    if algorithm != ALGORITHM:
        raise S3Error(
            "AuthorizationQueryParametersError", f"X-Amz-Algorithm only supports {ALGORITHM}"
        )
    seconds = int(expires) if _SECONDS.fullmatch(expires) else -1
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise S3Error(
            "AuthorizationQueryParametersError",
            f"X-Amz-Expires must be a number of seconds from 1 to {_LONGEST_SECONDS}",
        )
    in_query = call.first("X-Amz-Content-Sha256")
    payload = in_query or call.headers.get("x-amz-content-sha256") or UNSIGNED
    return _make_claim(credential, signed, signature, date, payload, seconds)


def _make_claim(
    credential: str, signed: str, signature: str, timestamp: str, payload: str, expires: int | None
) -> Claim:
    code = _malformed(presigned=expires is not None)
    # An access key may contain slashes, the rest cannot.
    parts = credential.rsplit("/", _CREDENTIAL_PARTS - 1)
    if len(parts) != _CREDENTIAL_PARTS or parts[4] != "aws4_request" or not parts[0]:
        raise S3Error(
            code,
            "the Credential is mal-formed; expecting "
            '"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".',
        )
    at = _time(timestamp)
    if at is None:
        raise S3Error(code, "the date is not in the ISO8601 long format \"yyyyMMdd'T'HHmmss'Z'\".")
    if not timestamp.startswith(parts[1]) or len(parts[1]) != len("yyyymmdd"):
        raise S3Error(
            code,
            f'Invalid credential date "{parts[1]}". This date is not the same as X-Amz-Date: '
            f'"{timestamp[:8]}".',
        )
    if not _HEX.fullmatch(signature):
        raise S3Error("SignatureDoesNotMatch")
    names = tuple(signed.split(";"))
    if list(names) != sorted({name.lower() for name in names}):
        raise S3Error(code, "SignedHeaders are not lower-case names, sorted, each once.")
    return Claim(
        parts[0], parts[1], parts[2], parts[3], names, signature, timestamp, at, payload, expires
    )


def _timestamp(call: RawRequest) -> str:
    if stamp := call.headers.get("x-amz-date"):
        return stamp
    try:
        return parsedate_to_datetime(call.headers["date"]).astimezone(UTC).strftime(_STAMP)
    except (KeyError, ValueError, OverflowError):
        raise S3Error(
            "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header"
        ) from None


def _time(stamp: str) -> datetime | None:
    """Parse a timestamp, None if invalid; `strptime` takes ten times as long."""
    match = _STAMPED.fullmatch(stamp)
    try:
        return datetime(*map(int, match.groups()), tzinfo=UTC) if match else None  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def _malformed(*, presigned: bool) -> str:
    return "AuthorizationQueryParametersError" if presigned else "AuthorizationHeaderMalformed"


def _version_2() -> S3Error:
    return S3Error(
        "InvalidRequest",
        "The authorization mechanism you have provided is not supported: Signature Version 2. "
        "Please use AWS4-HMAC-SHA256.",
    )
