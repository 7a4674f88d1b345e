"""Signatures of Standard Webhooks: `v1` by HMAC-SHA256, `v1a` by Ed25519.

The signed content is `webhook-id.webhook-timestamp.body`. A request has one signature per key, so
that receivers can change from an old key to a new one while both are configured.
"""

import base64
import binascii
import hmac
import re
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

SHARED: Final = "whsec_"
PRIVATE: Final = "whsk_"
ALLOWED: Final = (
    f"keys separated by spaces: {SHARED} and the Base64 of 24 to 64 bytes, or {PRIVATE} and the "
    "Base64 of an Ed25519 seed of 32 bytes, with or without its public key of 32 more"
)
_SHARED_BYTES: Final = range(24, 65)
_SEED_BYTES: Final = 32

_Sign = Callable[[bytes], str]


class Signer:
    """Sign requests with each of its keys; without keys it is false, and signs nothing.

    Raises:
        ValueError: a key is malformed; the message says what is allowed, without the key.
    """

    def __init__(self, keys: str, clock: Callable[[], float] = time.time) -> None:
        self._signs: Sequence[_Sign] = [_make_sign(key) for key in _split(keys)]
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._signs)

    def headers(self, webhook_id: str, body: bytes) -> list[str]:
        """Return the signature headers of a request that is sent now."""
        now = int(self._clock())
        content = f"{webhook_id}.{now}.".encode() + body
        signatures = " ".join(sign(content) for sign in self._signs)
        return [f"webhook-timestamp: {now}", f"webhook-signature: {signatures}"]


def check(keys: str) -> None:
    """Check the form of keys, without any library.

    Raises:
        ValueError: as `Signer` does.
    """
    for key in _split(keys):
        _decode(key)


def _split(keys: str) -> list[str]:
    return [key for key in re.split(r"[\s,]+", keys) if key]


def _decode(key: str) -> bytes:
    prefix, _, encoded = key.partition("_")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if f"{prefix}_" == SHARED and len(raw) in _SHARED_BYTES:
        return raw
    if f"{prefix}_" == PRIVATE and len(raw) in (_SEED_BYTES, 2 * _SEED_BYTES):
        return raw
    raise ValueError(ALLOWED)


def _make_sign(key: str) -> _Sign:
    raw = _decode(key)
    return _ed25519(raw) if key.startswith(PRIVATE) else _hmac(raw)


def _hmac(key: bytes) -> _Sign:
    def sign(content: bytes) -> str:
        return f"v1,{_encode(hmac.digest(key, content, sha256))}"

    return sign


def _ed25519(key: bytes) -> _Sign:
    # Imported only for such a key: it takes longer than the signature.
    from nacl.signing import SigningKey  # noqa: PLC0415

    private, public = SigningKey(key[:_SEED_BYTES]), key[_SEED_BYTES:]
    if public and public != bytes(private.verify_key):
        raise ValueError(ALLOWED)

    def sign(content: bytes) -> str:
        return f"v1a,{_encode(private.sign(content).signature)}"

    return sign


def _encode(signature: bytes) -> str:
    return base64.b64encode(signature).decode()
