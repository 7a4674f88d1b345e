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
from bucketcast.users.owners import Owners
from bucketcast.web.request import RawRequest

_NOBODYS: Final[Mapping[str, str]] = {}


class Judge:
    """Judges calls; `owners`, the ids of users by bucket, are cached for a few seconds."""

    def __init__(self, owners: Owners) -> None:
        def read() -> Mapping[str, str]:
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
        return rights.is_met(user, await self.owners(since), needed)
