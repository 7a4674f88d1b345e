"""How a client shows who it is: what nats-py is given, and what cannot be."""

import re
from typing import Any, Protocol

from bucketcast.errors import NotAuthorized
from bucketcast.options import Secret

WAYS = ("username", "token", "nkey_seed", "user_credentials")
"""The options of which one is given at most: a server that knows several takes any of them."""

_JWT = re.compile(r"-----BEGIN NATS USER JWT-----\s+(\S+)\s")
_SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")
_CREDENTIALS = "-----BEGIN NATS USER JWT-----\n{}\n-----BEGIN USER NKEY SEED-----\n{}\n"


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


def credentials(text: str) -> str:
    """A creds file in the one form that nats-py reads: of any other it would never see the end.

    Raises:
        ValueError: it lacks the JWT or the seed.
    """
    jwt, seed = _JWT.search(text), _SEED.search(text)
    if not jwt or not seed:
        raise ValueError("a creds file: a user's JWT and the seed of the NKEY that it is for")
    return _CREDENTIALS.format(jwt[1], seed[0])


def login(given: Given) -> dict[str, Any]:
    """The options of nats-py.

    Raises:
        NotAuthorized: a secret is not of the form it must have.
    """
    if given.user_credentials:
        from nats.aio.client import RawCredentials  # noqa: PLC0415 - only its own function has it

        try:
            text = credentials(given.user_credentials.reveal())
        except ValueError as error:
            raise NotAuthorized(f"user_credentials must be {error}") from None
        return {"user_credentials": RawCredentials(text)}
    if given.nkey_seed:
        seed = _SEED.search(given.nkey_seed.reveal())
        if not seed:
            raise NotAuthorized("nkey_seed must be a user's, which begins with SU")
        return {"nkeys_seed_str": seed[0]}
    if given.username:
        return {"user": given.username, "password": given.password.reveal()}
    return {"token": given.token.reveal()} if given.token else {}
