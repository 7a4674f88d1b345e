"""Authenticate calls by their signature, time, region and user."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from bucketcast.aws.clients import AwsError
from bucketcast.limits import MOST_FORM_BYTES
from bucketcast.users import MAX_KEY_LENGTH, Account, User
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest, byte_count
from bucketcast.web.request_body import Receive, RequestBody
from bucketcast.web.signature import check, claims, payload
from bucketcast.web.signature.claims import UNSIGNED, Claim

Scope = MutableMapping[str, Any]
FindAccount = Callable[[str], Awaitable[Account | None]]
FindUser = Callable[[str], Awaitable[User | None]]
Judge = Callable[[User, RawRequest], None]
"""Raises an `S3Error` for a call that its user may not make."""
T = TypeVar("T")
S3: Final = ("s3",)
CONFIRM_SECONDS: Final = 2.0
"""The seconds between two looks at whether a call that lasts would still be admitted."""
UNCONFIRMED_SECONDS: Final = 60.0
"""The seconds for which a call that lasts goes on while users cannot be read."""
AUDITED: Final = "bucketcast.audited"
"""The scope's key for what is known of a call, for `gateway.audit`."""
ABORT: Final = "bucketcast.abort"
"""The scope's key for a function that closes the connection, if the server has one."""


@dataclass(slots=True)
class AuthenticatedRequest:
    """An authenticated call: its request, its user and its body.

    `confirm` judges the call by the rights that its user has now, and keeps these in `user`; it
    raises an `S3Error` for a call that is refused. A call that has waited calls it before it does
    something. `peer` is the client's address; `abort` closes the connection at once. `audited` is
    written to the audit log.
    """

    call: RawRequest
    user: User
    access_key: str
    body: RequestBody
    confirm: Callable[[], Awaitable[None]]
    peer: str = ""
    abort: Callable[[], None] = lambda: None
    audited: MutableMapping[str, Any] = field(default_factory=dict)

    def confirmed(self) -> "AuthenticatedRequest":
        """Return the call as one that is confirmed for good, as S3 has done it."""

        async def confirm() -> None: ...

        return replace(self, confirm=confirm)

    async def while_confirmed(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work that lasts; cancel it as soon as the call would be refused.

        Raises:
            S3Error: the call would be refused, or could not be confirmed for long; its connection
                is closed.
        """
        working, judging = asyncio.ensure_future(work), asyncio.ensure_future(self._judge())
        try:
            await asyncio.wait([working, judging], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self.abort()
                judging.result()
            return working.result()
        finally:
            working.cancel()
            judging.cancel()
            await asyncio.gather(working, judging, return_exceptions=True)

    async def _judge(self) -> None:
        """Raise an `S3Error` as soon as the call would be refused; do not return before."""
        try:
            async with asyncio.timeout(UNCONFIRMED_SECONDS) as limit:
                while True:
                    await asyncio.sleep(CONFIRM_SECONDS)
                    with suppress(AwsError):  # users cannot be read now
                        await self.confirm()
                        limit.reschedule(asyncio.get_running_loop().time() + UNCONFIRMED_SECONDS)
        except TimeoutError:
            raise S3Error("ServiceUnavailable", "users cannot be read") from None


class Authenticator:
    """Authenticates calls; `domains` are those under which a host names a bucket.

    `find_user` finds the user of an access key again while a call lasts.
    """

    def __init__(
        self,
        find: FindAccount,
        find_user: FindUser,
        *,
        domains: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._find = find
        self._find_user = find_user
        self._domains = domains
        self._now = now

    async def authenticate(
        self,
        scope: Scope,
        receive: Receive,
        services: Collection[str] = S3,
        judge: Judge = lambda *_: None,
    ) -> AuthenticatedRequest:
        """Authenticate a call, which its `confirm` judges; its body is checked when it is read.

        `services` are the allowed services in the signature's scope, the usual one first.

        Raises:
            S3Error: it is refused; its body was not read.
        """
        call = self.read(scope)
        audited = scope[AUDITED]
        claim = claims.parse(call)
        # Whatever a stranger claims, the line stays short.
        audited["access_key"] = claim.access_key[:MAX_KEY_LENGTH]
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
            body = await self._verify_hash(call, claim, account, receive)
        else:
            key = check.signature(call, claim, account.secret)
            body = RequestBody(receive, payload.verifier(call, claim, key), account.user.id)
        audited["user"] = account.user.name
        peer, _ = scope.get("client") or ("", 0)
        abort = scope.get(ABORT, lambda: None)

        async def confirm() -> None:
            user = await self._find_user(claim.access_key)
            if user is None or user.id != account.user.id:
                raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=claim.access_key)
            judge(user, call)
            admitted.user = user

        admitted = AuthenticatedRequest(
            call, account.user, claim.access_key, body, confirm, peer, abort, audited
        )
        return admitted

    def read(self, scope: Scope) -> RawRequest:
        """Return the request of an ASGI scope, as sent.

        Raises:
            S3Error: it is ambiguous.
        """
        call = RawRequest.of(
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            [(name.decode("latin-1"), _decode(value)) for name, value in scope["headers"]],
            self._domains,
        )
        scope.setdefault(AUDITED, {}).update(bucket=call.bucket, request=call)
        return call

    async def _verify_hash(
        self, call: RawRequest, claim: Claim, account: Account, receive: Receive
    ) -> RequestBody:
        """Return the body of a call whose signed hash is not sent, and has to be computed.

        Clients send it to S3 only, and curl before 8 does not even there.
        """
        if (byte_count(call.headers.get("content-length", "")) or 0) > MOST_FORM_BYTES:
            raise S3Error("EntityTooLarge", MaxSizeAllowed=str(MOST_FORM_BYTES))
        parts = [await RequestBody(receive, payload.Plain(UNSIGNED, None)).read(MOST_FORM_BYTES)]
        length, digest = len(parts[0]), hashlib.sha256(parts[0]).hexdigest()
        check.signature(call, replace(claim, payload=digest), account.secret)

        async def replay() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        return RequestBody(replay, payload.Plain(digest, length), account.user.id)


def _decode(value: bytes) -> str:
    """Return a header's value as clients sign it and as S3 gets it: UTF-8, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
