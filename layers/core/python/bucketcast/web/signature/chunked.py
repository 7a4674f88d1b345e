r"""Bodies in `aws-chunked`: each chunk has its own signature, made with the one before it.

::

    10000;chunk-signature=<64 digits>\r\n<65,536 bytes>\r\n
    0;chunk-signature=<64 digits>\r\n
    x-amz-checksum-crc32c:<base64>\n
    x-amz-trailer-signature:<64 digits>\r\n\r\n

The signatures are optional over TLS, the trailing lines without a checksum. The parser does no I/O:
`feed` returns the verified content of the bytes it is given.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from typing import Final

from bucketcast.web.errors import S3Error
from bucketcast.web.signature.canonical import EMPTY_SHA256

_HEADER: Final = re.compile(rb"([0-9a-fA-F]{1,16})(?:;chunk-signature=([0-9a-f]{64}))?")
_MAX_HEADER_BYTES: Final = 128
_MAX_TRAILER_BYTES: Final = 8_192
_END: Final = b"\r\n"
_SIGNATURE_LINE: Final = b"x-amz-trailer-signature"


class Chunks:
    """The chain of signatures of a body's chunks, which begins with the request's."""

    def __init__(self, key: bytes, timestamp: str, scope: str, seed: str) -> None:
        self._key = key
        self._terms = f"{timestamp}\n{scope}\n"
        self._last = seed

    def check_chunk(self, digest: str, signature: bytes) -> None:
        """Check the signature of the next chunk, by its SHA-256."""
        self._check(f"-PAYLOAD\n{self._terms}{self._last}\n{EMPTY_SHA256}\n{digest}", signature)

    def check_trailers(self, lines: bytes, signature: bytes) -> None:
        """Check the signature of the trailers."""
        digest = hashlib.sha256(lines).hexdigest()
        self._check(f"-TRAILER\n{self._terms}{self._last}\n{digest}", signature)

    def _check(self, rest: str, signature: bytes) -> None:
        string_to_sign = f"AWS4-HMAC-SHA256{rest}".encode()
        computed = hmac.digest(self._key, string_to_sign, "sha256").hex()
        if not hmac.compare_digest(computed.encode(), signature):
            raise S3Error("SignatureDoesNotMatch")
        self._last = computed


class Chunked:
    """A body of `length` bytes in chunks; `announced` are trailers, None if none is allowed.

    `trailers` are the trailing lines, for S3 to check; known at the end.

    Raises:
        S3Error: in `feed` and `finish`: a wrong signature, wrong framing, or missing bytes.
    """

    digest = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    def __init__(
        self, length: int, chain: Chunks | None, announced: Sequence[str] | None = None
    ) -> None:
        self.length: int | None = length
        self.trailers = b""
        self._chain = chain
        self._announced = announced
        self._left_in_body = length
        self._buffer = bytearray()
        self._left_in_chunk = 0
        self._signature = b""
        self._hash = hashlib.sha256()
        self._state: Callable[[bytearray], bool] = self._read_header

    def feed(self, data: bytes) -> bytes:
        """Parse received bytes; return their content."""
        self._buffer += data
        out = bytearray()
        while self._state(out):
            pass
        return bytes(out)

    def finish(self) -> None:
        """Check that the body is complete."""
        if self._state != self._read_trailers:
            raise S3Error("IncompleteBody", "the body ended within a chunk")
        if self._left_in_body:
            raise S3Error("IncompleteBody", "the body is shorter than x-amz-decoded-content-length")
        lines: dict[bytes, bytes] = {}
        for line in bytes(self._buffer).split(b"\n"):
            if line := line.strip(b"\r"):
                name, _, value = line.partition(b":")
                lines[name.strip().lower()] = value.strip()
        self._check_trailers(lines)

    def _check_trailers(self, lines: dict[bytes, bytes]) -> None:
        signature = lines.pop(_SIGNATURE_LINE, b"")
        names = [name.decode("latin-1") for name in lines]
        if names != list(self._announced or ()):
            raise S3Error(
                "InvalidRequest",
                f"x-amz-trailer announces {', '.join(self._announced or ()) or 'nothing'}; the "
                f"body is followed by {', '.join(names) or 'nothing'}",
            )
        trailers = b"".join(name + b":" + value + b"\n" for name, value in lines.items())
        if self._chain and self._announced is not None:
            self._chain.check_trailers(trailers, signature)
        self.trailers = trailers.replace(b"\n", _END)

    def _read_header(self, _: bytearray, /) -> bool:
        end = self._buffer.find(_END)
        if end < 0:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                raise S3Error("InvalidRequest", "a chunk begins with no size")
            return False
        match = _HEADER.fullmatch(bytes(self._buffer[:end]))
        if not match or bool(match[2]) != bool(self._chain):
            raise S3Error("InvalidRequest", "a chunk begins with no size, or lacks its signature")
        del self._buffer[: end + 2]
        self._left_in_chunk, self._signature = int(match[1], 16), match[2] or b""
        if self._left_in_chunk > self._left_in_body:
            raise S3Error("IncompleteBody", "the body is longer than x-amz-decoded-content-length")
        self._hash = hashlib.sha256()
        if not self._left_in_chunk:
            self._verify()
            self._state = self._read_trailers
            return True
        self._state = self._read_content
        return True

    def _read_content(self, out: bytearray, /) -> bool:
        part = self._buffer[: self._left_in_chunk]
        if not part:
            return False
        del self._buffer[: len(part)]
        if self._chain:
            self._hash.update(part)
        self._left_in_chunk -= len(part)
        self._left_in_body -= len(part)
        out += part
        if not self._left_in_chunk:
            self._verify()
            self._state = self._read_separator
        return True

    def _read_separator(self, _: bytearray, /) -> bool:
        if len(self._buffer) < len(_END):
            return False
        if self._buffer[:2] != _END:
            raise S3Error("InvalidRequest", "a chunk is longer than its stated size")
        del self._buffer[:2]
        self._state = self._read_header
        return True

    def _read_trailers(self, _: bytearray, /) -> bool:
        if len(self._buffer) > _MAX_TRAILER_BYTES:
            raise S3Error("InvalidRequest", "the trailers are too long")
        return False

    def _verify(self) -> None:
        if self._chain:
            self._chain.check_chunk(self._hash.hexdigest(), self._signature)
