"""The options of `notify_redis`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from bucketcast.settings.options import option
from bucketcast.settings.types import Address, Secret
from bucketcast.targets.base import Endpoint, iam, options

_MEMORYDB = ("memorydb:connect", "/")


@dataclass(frozen=True, kw_only=True)
class RedisSettings(options.Common, options.TlsSwitched, iam.IamLogin):
    """MinIO's options of `notify_redis`, and TLS, which MinIO lacks."""

    address: Address = option("the server; the default port is 6379", example="localhost:6379")
    key: str = option("the hash or list that events go to", example="bucketevents")
    format: Literal["namespace", "access"] = option(
        "namespace: a hash that mirrors the bucket; access: a list of all events",
        default="namespace",
    )
    user: str = option("the ACL user; the default user if empty", default="")
    password: Secret = option("the password of the user", default="")
    auth: iam.Auth = option(iam.AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the replication group, serverless cache or MemoryDB cluster",
        default="",
        example="arn:aws:elasticache:eu-west-1:111122223333:replicationgroup:events",
    )
    iam_pattern: ClassVar[re.Pattern[str]] = iam.arn_pattern(
        "(?P<service>(?P<cache>elasticache)|memorydb)",
        r"(?P<type>(?(cache)(?:replicationgroup|serverlesscache):|cluster/))(?P<name>[a-z0-9-]+)",
    )

    @property
    def server(self) -> Endpoint:
        return Endpoint.of(self.address, 6379)

    @property
    def type(self) -> Literal["hash", "list"]:
        """Redis's type of the key."""
        return "hash" if self.format == "namespace" else "list"

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from options.tls_errors(self, encrypted=bool(self.tls))
        yield from iam.errors(self, passwords=["password"])
        if self.by_iam and not self.user:
            yield "user", "missing", "auth = iam needs the id of the cache's user"
        elif self.by_iam:
            yield from options.reference_errors(self, "user")
        elif self.user and not self.password:
            yield "password", "missing", "a user needs a password"

    def iam_rights(self) -> Sequence[iam.Right]:
        parts = self.iam_parts
        action, divider = ("elasticache:Connect", ":") if parts["cache"] else _MEMORYDB
        user = f"{parts['head']}user{divider}{self.user}"
        return [iam.Right([action], [self.iam_resource, user])]
