"""Users of the gateway: their keys, and their rights by patterns of buckets' names.

`aws` stores users, `command` is `bucketcast user`. What a call needs is decided by the gateway.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

Right = Literal["read", "write", "notify", "create", "lock"]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
MAX_KEY_LENGTH: Final = 128
"""Characters of an access key."""


@dataclass(frozen=True, slots=True)
class User:
    """A user; `tenant` owns its topics, `admin` may do everything.

    Topics and listeners belong to the `id`: the name may be another user's one day. `grants` are
    the rights on the buckets whose names match a pattern; nobody has any by creating a bucket.
    """

    id: str
    name: str
    tenant: str
    keys: tuple[str, ...]
    admin: bool = False
    grants: Mapping[str, tuple[Right, ...]] = field(default_factory=dict)

    def rights_on(self, bucket: str) -> Collection[Right]:
        """Return the rights of the user on a bucket, whether it exists or not."""
        if self.admin:
            return RIGHTS
        return {
            right
            for pattern, rights in self.grants.items()
            if fnmatchcase(bucket, pattern)
            for right in rights
        }


@dataclass(frozen=True, slots=True)
class Account:
    """A user with the secret of one of its keys, which the repr omits."""

    user: User
    secret: str = field(repr=False)
