"""Users of the gateway and their keys; `aws` stores them, `command` is `bucketcast user`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class User:
    """A user; `tenant` owns what the user creates, `admin` may change the deployment."""

    name: str
    tenant: str
    access_key: str
    admin: bool


@dataclass(frozen=True, slots=True)
class Account:
    """A user with its secret key, which the repr omits."""

    user: User
    secret: str = field(repr=False)
