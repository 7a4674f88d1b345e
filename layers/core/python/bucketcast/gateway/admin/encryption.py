"""The encryption of admin calls: bodies are encrypted with the caller's secret, as in madmin."""

from io import BytesIO

from argon2.exceptions import HashingError
from minio import crypto
from urllib3 import HTTPResponse

from bucketcast.web.errors import S3Error


def decrypt(body: bytes, secret: str) -> str:
    """Return the text of an encrypted body.

    Raises:
        S3Error: it was encrypted with another key, changed in transit, or is not text.
    """
    try:
        response = HTTPResponse(BytesIO(body), preload_content=False)
        return crypto.decrypt(response, secret).decode()
    except (ValueError, OSError, HashingError):
        raise S3Error(
            "XMinioAdminConfigBadJSON", "the body is not encrypted with your secret key"
        ) from None


def encrypt(document: str, secret: str) -> bytes:
    """Encrypt a text, which must not be empty, with the secret."""
    return crypto.encrypt(document.encode(), secret)
