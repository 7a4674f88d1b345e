"""Non-ASCII text in headers: the encoded words of RFC 2047, in which S3 returns metadata."""

from email.errors import MessageError
from email.header import decode_header, make_header


def decode(text: str) -> str:
    """Return the decoded text; text that is not encoded, or invalid, stays as it is."""
    if "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, LookupError, ValueError):
        return text


def as_sent(header: str) -> str:
    """Return a header that S3 returns as its client sent it.

    S3 reads the client's UTF-8 bytes as Latin-1 and encodes that. If the bytes are not UTF-8, the
    client itself sent encoded words.
    """
    decoded = decode(header)
    if decoded == header or decoded.isascii():
        return header
    try:
        return decoded.encode("latin-1").decode()
    except UnicodeError:
        return header
