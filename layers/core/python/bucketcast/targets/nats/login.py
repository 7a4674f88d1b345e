"""How a client shows who it is, in nats-py's words."""

from typing import Any

from bucketcast.errors import NotAuthorized
from bucketcast.targets.nats.nkey import Nkey
from bucketcast.targets.nats.settings import SEED, NatsSettings, credentials


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
