"""Judge the calls of users by their rights, and by the buckets that they own."""

import time
from collections.abc import Mapping
from typing import Final

from bucketcast.aws.clients import aws_errors
from bucketcast.gateway import rights
from bucketcast.gateway.account_cache import MAX_AGE_SECONDS
from bucketcast.gateway.rights import Needed
from bucketcast.gateway.shared_reading import SharedReading
from bucketcast.users import User
from bucketcast.users.owners import Owner, Owners
from bucketcast.web.request import RawRequest

_NOBODYS: Final[Mapping[str, Owner]] = {}
_SKEW_SECONDS: Final = 5.0
"""How far the gateway's clock may be ahead of that of S3's queues."""


class Judge:
    """Judges calls; `owners`, by bucket, are cached for a few seconds."""

    def __init__(self, owners: Owners) -> None:
        def read() -> Mapping[str, Owner]:
            with aws_errors():
                return owners.all()

        self.owners = SharedReading(read)

    async def require(self, user: User, call: RawRequest) -> None:
        """Require what a call needs.

        A bucket that was made by another gateway is the user's at once: the owners are read again
        before a call is refused.

        Raises:
            S3Error: the user does not have it.
            AwsError: the table does not answer.
        """
        now = time.time()
        missing = rights.missing(user, _NOBODYS, call)
        for since in (now - MAX_AGE_SECONDS, now):
            if missing:
                missing = rights.missing(user, await self.owners(since), call)
        if missing:
            raise rights.denied(missing)

    async def may_hear_of(self, user: User, bucket: str, at: float) -> bool:
        """Return True if a user may see a bucket's event that happened at a time (Unix s)."""
        needed = Needed(bucket, "notify")
        if rights.is_met(user, _NOBODYS, needed):
            return True
        since = max(at, time.time() - MAX_AGE_SECONDS)
        owners = await self.owners(since)
        if bucket in owners and at + _SKEW_SECONDS < owners[bucket].since / 1_000:
            # It is of an earlier bucket of the name, which was another user's.
            return False
        return rights.is_met(user, owners, needed)
