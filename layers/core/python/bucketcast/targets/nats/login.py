"""How a client shows who it is: what nats-py is given, and what cannot be."""

import re
from typing import Any, Protocol

from bucketcast.errors import NotAuthorized
from bucketcast.options import Secret
from bucketcast.targets.nats.nkey import Nkey

WAYS = ("username", "token", "nkey_seed", "user_credentials")
"""The options of which one is given at most: a server that knows several takes any of them."""

_JWT = re.compile(r"-----BEGIN NATS USER JWT-----\s+(\S+)\s")
_SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")


class Given(Protocol):
    """The target's options that are about the login."""

    @property
    def username(self) -> str: ...
    @property
    def password(self) -> Secret: ...
    @property
    def token(self) -> Secret: ...
    @property
    def nkey_seed(self) -> Secret: ...
    @property
    def user_credentials(self) -> Secret: ...


def credentials(text: str) -> tuple[str, str]:
    """The JWT and the seed in a creds file.

    Raises:
        ValueError: it lacks one of them.
    """
    jwt, seed = _JWT.search(text), _SEED.search(text)
    if not jwt or not seed:
        raise ValueError("a creds file: a user's JWT and the seed of the NKEY that it is for")
    return jwt[1], seed[0]


def login(given: Given) -> dict[str, Any]:
    """The options of `Connection.open`.

    Raises:
        NotAuthorized: a secret is not of the form it must have.
    """
    if given.user_credentials:
        try:
            jwt, seed = credentials(given.user_credentials.reveal())
            return {"nkey": Nkey(seed), "user_jwt_cb": jwt.encode}
        except ValueError as error:
            raise NotAuthorized(f"user_credentials must be {error}") from None
    if given.nkey_seed:
        found = _SEED.search(given.nkey_seed.reveal())
        try:
            return {"nkey": Nkey(found[0] if found else "")}
        except ValueError:
            raise NotAuthorized("nkey_seed must be a user's, which begins with SU") from None
    if given.username:
        return {"user": given.username, "password": given.password.reveal()}
    return {"token": given.token.reveal()} if given.token else {}
