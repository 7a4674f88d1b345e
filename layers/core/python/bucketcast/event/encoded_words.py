"""Non-ASCII text in headers: the encoded words of RFC 2047, in which S3 returns metadata."""

from email.errors import MessageError
from email.header import decode_header, make_header


def decoded(text: str) -> str:
    """Return the decoded text; text that is not encoded, or invalid, stays as it is."""
    if "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, LookupError, ValueError):
        return text


def as_sent(text: str) -> str:
    """Return a header of S3's as its client sent it.

    S3 reads the client's UTF-8 bytes as Latin-1 and encodes that. If the bytes are not UTF-8, the
    client itself sent encoded words.
    """
    said = decoded(text)
    if said == text or said.isascii():
        return text
    try:
        return said.encode("latin-1").decode()
    except UnicodeError:
        return text
