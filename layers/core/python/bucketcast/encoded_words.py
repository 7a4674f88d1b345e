"""Text beyond ASCII in headers: the encoded words of RFC 2047, in which S3 gives metadata."""

from email.errors import MessageError
from email.header import decode_header, make_header


def decoded(text: str) -> str:
    """What encoded words say; other text, and what cannot be decoded, as it is."""
    if "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, LookupError, ValueError):
        return text


def as_sent(text: str) -> str:
    """A header of S3's as its client had sent it.

    S3 takes the bytes of UTF-8 that it is sent for Latin-1, and encodes that. Where the bytes were
    no UTF-8 the client had sent the encoded words itself.
    """
    said = decoded(text)
    if said == text or said.isascii():
        return text
    try:
        return said.encode("latin-1").decode()
    except UnicodeError:
        return text
