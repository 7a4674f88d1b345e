"""How a client shows who it is, in nats-py's words, and NKEYs: the Ed25519 keys of users.

nats-py takes a library for NKEYs that is published as source only, and a function carries wheels.
The form is that of NATS's ADR-1 and its Go library: Base32 of prefix, key and CRC-16.
"""

import base64
import binascii
from typing import Any

from bucketcast.errors import NotAuthorized
from bucketcast.targets.nats.settings import SEED, NatsSettings, credentials

_USER = 20 << 3
_SEED_OF_USER = bytes([18 << 3 | _USER >> 5, _USER << 3 & 0xFF])
_PREFIX, _CRC = len(_SEED_OF_USER), 2


class Nkey:
    """A user's key by its seed, 58 characters that begin with SU; importing it imports no library.

    Raises:
        ValueError: it is no user's seed, or was mistyped.
    """

    def __init__(self, seed: str) -> None:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
        body, checksum = raw[:-_CRC], raw[-_CRC:]
        if body[:_PREFIX] != _SEED_OF_USER or _crc(body) != checksum:
            raise ValueError("the seed of no user's NKEY")
        from nacl.signing import SigningKey  # noqa: PLC0415 - only its own function has it

        self._key = SigningKey(body[_PREFIX:])

    @property
    def public(self) -> str:
        """As the server's configuration names the user: 56 characters that begin with U."""
        body = bytes([_USER]) + bytes(self._key.verify_key)
        return base64.b32encode(body + _crc(body)).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        """Return the Base64 of the signature of what the server asks to sign."""
        return base64.b64encode(self._key.sign(nonce.encode()).signature)


def _crc(body: bytes) -> bytes:
    return binascii.crc_hqx(body, 0).to_bytes(_CRC, "little")


def login(settings: NatsSettings) -> dict[str, Any]:
    """Return the options of `Connection.open`.

    Raises:
        NotAuthorized: a secret is not of the form it must have.
    """
    if settings.user_credentials:
        try:
            jwt, seed = credentials(settings.user_credentials.reveal())
            return {"nkey": Nkey(seed), "user_jwt_cb": jwt.encode}
        except ValueError as error:
            raise NotAuthorized(f"user_credentials must be {error}") from None
    if settings.nkey_seed:
        found = SEED.search(settings.nkey_seed.reveal())
        try:
            return {"nkey": Nkey(found[0] if found else "")}
        except ValueError:
            raise NotAuthorized("nkey_seed must be a user's, which begins with SU") from None
    if settings.username:
        return {"user": settings.username, "password": settings.password.reveal()}
    return {"token": settings.token.reveal()} if settings.token else {}
