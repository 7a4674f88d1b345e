"""Signatures of Standard Webhooks: `v1`, by HMAC-SHA256.

The signed content is `webhook-id.webhook-timestamp.body`. A request has one signature per key, so
that receivers can change from an old key to a new one while both are configured.
"""

import base64
import binascii
import hmac
import re
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Final

PREFIX: Final = "whsec_"
ALLOWED: Final = f"keys separated by spaces: {PREFIX} and the Base64 of 24 to 64 bytes"
_KEY_BYTES: Final = range(24, 65)


class Signer:
    """Sign requests with each of its keys; without keys it is false, and signs nothing.

    Raises:
        ValueError: a key is malformed; the message says what is allowed, without the key.
    """

    def __init__(self, keys: str, clock: Callable[[], float] = time.time) -> None:
        self._keys = [_decode(key) for key in re.split(r"[\s,]+", keys) if key]
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._keys)

    def headers(self, webhook_id: str, body: bytes) -> list[str]:
        """Return the signature headers of a request that is sent now."""
        now = int(self._clock())
        content = f"{webhook_id}.{now}.".encode() + body
        digests = [base64.b64encode(hmac.digest(key, content, sha256)) for key in self._keys]
        signatures = " ".join(f"v1,{digest.decode()}" for digest in digests)
        return [f"webhook-timestamp: {now}", f"webhook-signature: {signatures}"]


def _decode(key: str) -> bytes:
    try:
        raw = base64.b64decode(key.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not key.startswith(PREFIX) or len(raw) not in _KEY_BYTES:
        raise ValueError(ALLOWED)
    return raw
