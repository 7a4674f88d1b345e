"""Authenticate calls by their signature, time, region and user."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from bucketcast.users import Account, User
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest, byte_count
from bucketcast.web.request_body import Receive, RequestBody
from bucketcast.web.signature import check, claims, payload
from bucketcast.web.signature.claims import UNSIGNED, Claim

Scope = MutableMapping[str, Any]
FindAccount = Callable[[str], Awaitable[Account | None]]
S3: Final = ("s3",)
AUDITED: Final = "bucketcast.audited"
"""The scope's key for what is known of a call, for `gateway.audit`."""
ABORT: Final = "bucketcast.abort"
"""The scope's key for a function that closes the connection, if the server has one."""
LARGEST_FORM: Final = 640 * 1024
"""Bytes of a form, which are read before its signature can be checked: as many as a topic's
attributes may have, each written as `%XX`."""


@dataclass(frozen=True, slots=True)
class AuthenticatedRequest:
    """An authenticated call: its request, its user and its body.

    `peer` is the client's address; `abort` closes the connection at once. `audited` is written to
    the audit log.
    """

    call: RawRequest
    user: User
    body: RequestBody
    peer: str = ""
    abort: Callable[[], None] = lambda: None
    audited: MutableMapping[str, Any] = field(default_factory=dict)

    def need_admin(self) -> None:
        """Require an administrator.

        Raises:
            S3Error: the user is not an administrator.
        """
        if not self.user.admin:
            raise S3Error("AccessDenied", f"{self.user.name} is not an administrator")


class Authenticator:
    """Authenticates calls; `domains` are those under which a host names a bucket."""

    def __init__(
        self,
        find: FindAccount,
        *,
        domains: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._find = find
        self._domains = domains
        self._now = now

    async def authenticate(
        self, scope: Scope, receive: Receive, services: Collection[str] = S3
    ) -> AuthenticatedRequest:
        """Authenticate a call; its body is checked when it is read.

        `services` are the allowed services in the signature's scope, the usual one first.

        Raises:
            S3Error: it is refused; its body was not read.
        """
        call = self.read(scope)
        audited = scope.setdefault(AUDITED, {})
        audited["bucket"] = call.bucket
        claim = claims.parse(call)
        audited["access_key"] = claim.access_key
        check.terms(claim, self._now(), services)
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
            admitted = await self._authenticate_by_hash(call, claim, account, receive)
            audited["user"] = account.user.name
            return replace(admitted, audited=audited)
        key = check.signature(call, claim, account.secret)
        audited["user"] = account.user.name
        body = RequestBody(receive, payload.verifier(call, claim, key))
        peer, _ = scope.get("client") or ("", 0)
        abort = scope.get(ABORT, lambda: None)
        return AuthenticatedRequest(call, account.user, body, peer, abort, audited)

    def read(self, scope: Scope) -> RawRequest:
        """Return the request of an ASGI scope, as sent.

        Raises:
            S3Error: it is ambiguous.
        """
        return RawRequest.of(
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            [(name.decode("latin-1"), _decode(value)) for name, value in scope["headers"]],
            self._domains,
        )

    async def _authenticate_by_hash(
        self, call: RawRequest, claim: Claim, account: Account, receive: Receive
    ) -> AuthenticatedRequest:
        """Authenticate a call whose signed hash of the body is not sent, and has to be computed.

        Clients send it to S3 only, and curl before 8 does not even there.
        """
        if (byte_count(call.headers.get("content-length", "")) or 0) > LARGEST_FORM:
            raise S3Error("EntityTooLarge", MaxSizeAllowed=str(LARGEST_FORM))
        content = await RequestBody(receive, payload.Plain(UNSIGNED, None)).read(LARGEST_FORM)
        digest = hashlib.sha256(content).hexdigest()
        check.signature(call, replace(claim, payload=digest), account.secret)

        async def replay() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        return AuthenticatedRequest(
            call, account.user, RequestBody(replay, payload.Plain(digest, len(content)))
        )


def _decode(value: bytes) -> str:
    """Return a header's value as clients sign it and as S3 gets it: UTF-8, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
