"""The encryption of admin calls: bodies are sealed with their caller's secret, as madmin does."""

from io import BytesIO

from argon2.exceptions import HashingError
from minio import crypto

from bucketcast.control.errors import S3Error


class _Whole(BytesIO):
    """A body, as MinIO's client reads an answer."""

    def release_conn(self) -> None:
        """Nothing is held."""


def opened(body: bytes, secret: str) -> str:
    """The text of a sealed body.

    Raises:
        S3Error: it was sealed with another key, changed on the way, or is no text.
    """
    try:
        return crypto.decrypt(_Whole(body), secret).decode()  # type: ignore[arg-type]
    except (ValueError, OSError, HashingError):
        raise S3Error(
            "XMinioAdminConfigBadJSON", "the body is not encrypted with your secret key"
        ) from None


def sealed(text: str, secret: str) -> bytes:
    """A text, which must not be empty, as only the owner of the secret can read it."""
    return crypto.encrypt(text.encode(), secret)
