"""Bodies in chunks: AWS's own example, and what a forger would try."""

import asyncio
import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.web.errors import S3Error
from bucketcast.web.request_body import RequestBody
from bucketcast.web.signature.chunked import Chunked
from tests.unit.web.requests import SECRET, Wire, authenticator

# From AWS's "Signature Calculations for the Authorization Header: Transferring Payload in Multiple
# Chunks": 65,536 and 1,024 times the letter a.
SIGNATURES = (
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
)
HEADERS = {
    "host": "s3.amazonaws.com",
    "x-amz-date": "20130524T000000Z",
    "x-amz-storage-class": "REDUCED_REDUNDANCY",
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
    "aws4_request,SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;"
    "x-amz-date;x-amz-decoded-content-length;x-amz-storage-class,"
    "Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
    "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "content-encoding": "aws-chunked",
    "x-amz-decoded-content-length": "66560",
    "content-length": "66824",
}
CONTENT = b"a" * 66_560


def framed(parts: list[bytes], signatures: tuple[str, ...]) -> bytes:
    return b"".join(
        b"%x;chunk-signature=%b\r\n%b\r\n" % (len(part), signature.encode(), part)
        for part, signature in zip([*parts, b""], signatures, strict=True)
    )


BODY = framed([CONTENT[:65_536], CONTENT[65_536:]], SIGNATURES)


def streamed(body: bytes, size: int = 4_096, **changed: str) -> list[bytes]:
    """The pieces that would go on to S3."""
    headers = HEADERS | {name.replace("_", "-"): text for name, text in changed.items()}
    scope: Any = {
        "type": "http",
        "method": "PUT",
        "raw_path": b"/examplebucket/chunkObject.txt",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    pieces: list[bytes] = []

    async def run() -> None:
        at = authenticator(now=lambda: datetime(2013, 5, 24, tzinfo=UTC))
        admitted = await at.authenticate(scope, Wire(body, size))
        async for piece in admitted.body.stream():
            pieces.append(piece)  # noqa: PERF401 - what came before an error counts

    try:
        asyncio.run(run())
    except S3Error as error:
        error.add_note(str(sum(map(len, pieces))))
        raise
    return pieces


@given(st.integers(1, 70_000))
def test_the_example_of_aws_is_read_in_pieces_of_any_size(size: int) -> None:
    assert b"".join(streamed(BODY, max(size, 60))) == CONTENT


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (BODY.replace(b"a\r\n0;", b"b\r\n0;"), "SignatureDoesNotMatch"),
        (BODY.replace(SIGNATURES[0].encode(), SIGNATURES[1].encode()), "SignatureDoesNotMatch"),
        (BODY.replace(SIGNATURES[2].encode(), b"0" * 64), "SignatureDoesNotMatch"),
        (BODY[:-90], "IncompleteBody"),
        (BODY[:-2] + b"x-amz-meta-a:1\r\n\r\n", "InvalidRequest"),
        (b"g" + BODY, "InvalidRequest"),
        (b"a" * 300, "InvalidRequest"),
        (BODY.replace(b";chunk-signature=" + SIGNATURES[2].encode(), b""), "InvalidRequest"),
        (b"ffffffffffffff;chunk-signature=" + SIGNATURES[0].encode() + b"\r\n", "IncompleteBody"),
    ],
)
def test_invalid_body_is_never_forwarded_whole(body: bytes, code: str) -> None:
    with pytest.raises(S3Error) as caught:
        streamed(body)
    assert caught.value.code == code
    assert int(caught.value.__notes__[0]) < len(CONTENT)


def test_reordered_chunks_are_refused() -> None:
    swapped = framed([CONTENT[65_536:], CONTENT[:65_536]], (*SIGNATURES[1::-1], SIGNATURES[2]))
    with pytest.raises(S3Error, match="SignatureDoesNotMatch"):
        streamed(swapped)


def unsigned(body: bytes, announced: list[str] | None, length: int) -> tuple[bytes, bytes]:
    payload = Chunked(length, None, announced)

    async def run() -> bytes:
        return await RequestBody(Wire(body, 5), payload).read(1_000)

    return asyncio.run(run()), payload.trailers


def test_trailing_checksum_is_kept_for_s3() -> None:
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    assert unsigned(body, ["x-amz-checksum-crc32"], 5) == (
        b"hello",
        b"x-amz-checksum-crc32:NhCmhg==\r\n",
    )


def test_unannounced_trailers_are_refused() -> None:
    for body in (b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\r\nx-amz-checksum-sha1:x\r\n\r\n"):
        with pytest.raises(S3Error, match="x-amz-trailer announces x-amz-checksum-crc32"):
            unsigned(body, ["x-amz-checksum-crc32"], 5)


def test_body_of_another_length_than_announced_is_refused() -> None:
    for length in (4, 6):
        with pytest.raises(S3Error, match="IncompleteBody"):
            unsigned(b"5\r\nhello\r\n0\r\n\r\n", [], length)


def test_signature_of_trailers_is_checked() -> None:
    from bucketcast.web.signature import canonical  # noqa: PLC0415
    from bucketcast.web.signature.chunked import Chunks  # noqa: PLC0415

    scope = "20130524/us-east-1/s3/aws4_request"
    key = canonical.key(SECRET, scope)

    def signature(kind: str, last: str, *digests: bytes) -> str:
        hashes = "\n".join(hashlib.sha256(each).hexdigest() for each in digests)
        text = f"AWS4-HMAC-SHA256-{kind}\n20130524T000000Z\n{scope}\n{last}\n{hashes}"
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    one = signature("PAYLOAD", "seed", b"", b"hello")
    two = signature("PAYLOAD", one, b"", b"")
    line = b"x-amz-checksum-crc32:NhCmhg==\n"

    def body(trailer: str) -> bytes:
        chunks = framed([b"hello"], (one, two)).removesuffix(b"\r\n")
        return chunks + line + b"\r\nx-amz-trailer-signature:" + trailer.encode() + b"\r\n\r\n"

    def read(text: bytes) -> bytes:
        chain = Chunks(key, "20130524T000000Z", scope, "seed")
        payload = Chunked(5, chain, ["x-amz-checksum-crc32"])
        return asyncio.run(RequestBody(Wire(text), payload).read(1_000))

    assert read(body(signature("TRAILER", two, line))) == b"hello"
    with pytest.raises(S3Error, match="SignatureDoesNotMatch"):
        read(body(signature("TRAILER", two, b"x-amz-checksum-crc32:AAAAAA==\n")))
