"""The gate: no call gets behind it whose signature, time, region and user do not hold."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from bucketcast.control.body import Body, Receive
from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.control.signature import check, claims, payload
from bucketcast.control.signature.claims import UNSIGNED, Claim
from bucketcast.control.users import Account, User

Scope = MutableMapping[str, Any]
Find = Callable[[str], Awaitable[Account | None]]
S3: Final = ("s3",)
_ANYWHERE: Final = "us-east-1"
_ADMIN: Final = "/minio/admin/"
ABORT: Final = "bucketcast.abort"
"""Where a scope says how to hang up, if its server can."""
_LARGEST_HASHED: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that was let in: what it asks, who asks, and what it sends.

    `peer` is the address that it came from; `abort` hangs up, whatever is not sent yet.
    """

    call: Call
    user: User
    body: Body
    peer: str = ""
    abort: Callable[[], None] = lambda: None

    def need_admin(self) -> None:
        """Let no other user go on.

        Raises:
            S3Error: the user is no administrator.
        """
        if not self.user.admin:
            raise S3Error("AccessDenied", f"{self.user.name} is no administrator")


class Gate:
    """Checks calls against users; `domains` are those under which a host names a bucket."""

    def __init__(
        self,
        find: Find,
        region: str,
        *,
        domains: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.region = region
        self._find = find
        self._domains = domains
        self._now = now

    async def admit(
        self, scope: Scope, receive: Receive, services: Collection[str] = S3
    ) -> Admitted:
        """Let a call in; its body is checked when it is read.

        `services` are the names that may stand in the scope of the signature, the usual one first.

        Raises:
            S3Error: it is not let in; nothing of its body was read.
        """
        call = self.read(scope)
        claim = claims.of(call)
        check.terms(claim, self._now(), self._regions(call), services)
        check.headers(call, claim)
        account = await self._find(claim.access_key)
        if account is None:
            raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=claim.access_key)
        if not claim.payload:
            if tuple(services) == S3:
                raise S3Error(
                    "InvalidRequest",
                    "Missing required header for this request: x-amz-content-sha256",
                )
            return await self._hashed(call, claim, account, receive)
        key = check.signature(call, claim, account.secret)
        body = Body(receive, payload.of(call, claim, key))
        peer, _ = scope.get("client") or ("", 0)
        return Admitted(call, account.user, body, peer, scope.get(ABORT, lambda: None))

    def read(self, scope: Scope) -> Call:
        """The call of an ASGI scope, as it was sent.

        Raises:
            S3Error: it cannot be read in one way only.
        """
        return Call.of(
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            [(name.decode("latin-1"), _text(value)) for name, value in scope["headers"]],
            self._domains,
        )

    async def _hashed(
        self, call: Call, claim: Claim, account: Account, receive: Receive
    ) -> Admitted:
        """A call that signs the body's hash without sending it, as to all services but S3.

        curl before 8 leaves it out for S3 too.
        """
        whole = await Body(receive, payload.Plain(UNSIGNED, None)).read(_LARGEST_HASHED)
        digest = hashlib.sha256(whole).hexdigest()
        check.signature(call, replace(claim, payload=digest), account.secret)

        async def again() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": whole, "more_body": False}

        return Admitted(call, account.user, Body(again, payload.Plain(digest, len(whole))))

    def _regions(self, call: Call) -> tuple[str, ...]:
        """Who asks where a bucket is does not know it yet; MinIO's admin client names none."""
        if call.path.startswith(_ADMIN):
            return (self.region, _ANYWHERE, "")
        return (self.region, _ANYWHERE) if "location" in call.asked else (self.region,)


def _text(value: bytes) -> str:
    """A header's value as clients sign it and as it goes on to S3: UTF-8, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
