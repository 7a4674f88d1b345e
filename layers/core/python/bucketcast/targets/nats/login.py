"""The login as options of nats-py, and NKEYs: the Ed25519 keys of users.

nats-py needs a library for NKEYs that is only published as source, and a function carries wheels.
The format is that of NATS's ADR-1 and its Go library: Base32 of prefix, key and CRC-16.
"""

import base64
import binascii
from typing import Any

from bucketcast.targets.base import options
from bucketcast.targets.nats.settings import SEED, NatsSettings, parse_credentials

_USER = 20 << 3
_SEED_OF_USER = bytes([18 << 3 | _USER >> 5, _USER << 3 & 0xFF])
_PREFIX, _CRC = len(_SEED_OF_USER), 2


class Nkey:
    """A user's key, from a text with its seed: 58 characters that begin with SU.

    Raises:
        ValueError: the seed is not a user's, or its checksum is wrong.
    """

    def __init__(self, text: str) -> None:
        found = SEED.search(text)
        seed = found[0] if found else ""
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
        body, checksum = raw[:-_CRC], raw[-_CRC:]
        if body[:_PREFIX] != _SEED_OF_USER or _crc(body) != checksum:
            raise ValueError("a user's NKEY, whose seed begins with SU")
        from nacl.signing import SigningKey  # noqa: PLC0415 - only its own function has it

        self._key = SigningKey(body[_PREFIX:])

    @property
    def public_key(self) -> str:
        """The user's name in the server's configuration: 56 characters that begin with U."""
        body = bytes([_USER]) + bytes(self._key.verify_key)
        return base64.b32encode(body + _crc(body)).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        """Return the signature of the server's nonce in Base64."""
        return base64.b64encode(self._key.sign(nonce.encode()).signature)


def _crc(body: bytes) -> bytes:
    return binascii.crc_hqx(body, 0).to_bytes(_CRC, "little")


def _credentials(creds_file: str) -> dict[str, Any]:
    jwt, seed = parse_credentials(creds_file)
    return {"nkey": Nkey(seed), "user_jwt_cb": jwt.encode}


def login_options(settings: NatsSettings) -> dict[str, Any]:
    """Return the options of `Connection.open`.

    Raises:
        NotAuthorized: a secret has the wrong format.
    """
    if settings.user_credentials:
        return options.parsed(settings, "user_credentials", _credentials)
    if settings.nkey_seed:
        return {"nkey": options.parsed(settings, "nkey_seed", Nkey)}
    if settings.username:
        return {"user": settings.username, "password": settings.password.reveal()}
    return {"token": settings.token.reveal()} if settings.token else {}
