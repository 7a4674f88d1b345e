"""The owners of buckets: who creates one through the gateway owns it until it is removed.

One call at a time creates or removes a bucket: its owner is marked before S3 is called, and settled
by S3's answer, before the client gets it. So nobody owns a bucket that does not exist: that would
be a right on whatever the operator creates under its name. The call's body is received before, or a
client could hold a name by sending slowly. If the gateway is killed in between, the next call takes
over after some minutes, and for a day a bucket that exists by then is that of the user whose call
was killed: what is created later is the operator's.
"""

import time
from collections.abc import Callable, MutableMapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from bucketcast.aws.clients import aws_errors
from bucketcast.errors import BucketcastError
from bucketcast.telemetry import logger
from bucketcast.users.owners import Owner, Owners
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.responses import Handler, Send
from bucketcast.web.threads import in_thread

BUSY_SECONDS: Final = 600
"""Longer than a call that creates a bucket: the connection, and S3's answer."""
_REPEATED_SECONDS: Final = 86_400
LARGEST_BODY: Final = 65_536
"""Bytes of a call that creates or removes a bucket; its XML has some hundred."""
_METHODS: Final = ("PUT", "DELETE")


class _Marked(NamedTuple):
    """A bucket's owner during a call, and `before` it, which stays if the call does nothing.

    `is_taken_over` is True if the bucket of another user was removed past the gateway.
    """

    before: Owner | None
    during: Owner
    is_taken_over: bool = False


class Ownership:
    """Wraps the proxy to S3; `look_up` raises an `S3Error` if S3 has no such bucket, and blocks.

    `forget` removes the rules of a bucket that is taken over, whose owner would get the new one's
    events. Others stay: the operator may add rules ahead of a bucket.
    """

    def __init__(
        self,
        forward: Handler,
        owners: Owners,
        look_up: Callable[[str], None],
        forget: Callable[[str], None],
    ) -> None:
        self._forward = forward
        self._owners = owners
        self._look_up = look_up
        self._forget = forget

    async def __call__(self, admitted: AuthenticatedRequest, send: Send) -> None:
        """Proxy a call, and follow it if it creates or removes a bucket.

        Raises:
            S3Error: the name is taken, or another call creates or removes the bucket just now.
        """
        call = admitted.call
        marked = None
        if call.is_of_bucket and call.method in _METHODS:
            await admitted.body.hold(LARGEST_BODY)
            mark = self._mark_creation if call.method == "PUT" else self._mark_removal
            marked = await in_thread(admitted, mark, admitted)
        if marked is None:
            await self._forward(admitted, send)
            return
        is_settled = False

        async def send_on(message: MutableMapping[str, Any]) -> None:
            nonlocal is_settled
            if message["type"] == "http.response.start":
                await self._end(admitted, marked, message["status"])
                is_settled = True
            await send(message)

        try:
            if marked.is_taken_over:
                await in_thread(admitted, self._forget, call.bucket)
            await self._forward(admitted, send_on)
        except Exception:
            if not is_settled:
                await self._end(admitted, marked, HTTPStatus.INTERNAL_SERVER_ERROR)
            raise

    def _mark_creation(self, admitted: AuthenticatedRequest) -> _Marked | None:
        bucket, user = admitted.call.bucket, admitted.user
        with aws_errors():
            before = self._owners.get(bucket)
            _require_free(before)
            is_own = before is not None and before.user == user.id
            is_owned = is_own and before is not None and before.created
            if not is_owned and self._exists(bucket):
                if is_own and not _is_past(before, _REPEATED_SECONDS):
                    # The gateway was killed after S3 had created it.
                    is_owned = True
                elif user.admin:  # S3 answers, and the bucket stays whose it is
                    return None
                else:
                    raise S3Error("BucketAlreadyExists", BucketName=bucket)
            since = before.since if before and is_owned else _now()
            during = Owner(user.id, is_owned, _now() + BUSY_SECONDS * 1_000, since)
            self._replace(bucket, before, during)
        if is_owned:
            return _Marked(replace(during, busy=0), during)
        return _Marked(None, during, is_taken_over=before is not None and not is_own)

    def _mark_removal(self, admitted: AuthenticatedRequest) -> _Marked | None:
        bucket = admitted.call.bucket
        with aws_errors():
            before = self._owners.get(bucket)
            if before is None:
                return None
            _require_free(before)
            during = replace(before, busy=_now() + BUSY_SECONDS * 1_000)
            self._replace(bucket, before, during)
        return _Marked(replace(before, busy=0), during)

    async def _end(self, admitted: AuthenticatedRequest, marked: _Marked, status: int) -> None:
        bucket = admitted.call.bucket
        try:
            await in_thread(admitted.confirmed(), self._settle, admitted, marked, status)
        except BucketcastError as error:
            logger.error("the owner of a bucket is not settled", bucket=bucket, reason=str(error))

    def _settle(self, admitted: AuthenticatedRequest, marked: _Marked, status: int) -> None:
        """Store the owner after a call, by S3's answer; after a fault S3 is asked."""
        bucket, creates = admitted.call.bucket, admitted.call.method == "PUT"
        kept = replace(marked.during, created=True, busy=0) if creates else marked.before
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            after = kept if self._exists(bucket) else None
        elif status < HTTPStatus.MULTIPLE_CHOICES:
            after = kept if creates else None
        elif status == HTTPStatus.NOT_FOUND and not creates:  # it was removed past the gateway
            self._forget(bucket)
            after = None
        else:
            after = marked.before
        with aws_errors():
            self._replace(bucket, marked.during, after)

    def _replace(self, bucket: str, before: Owner | None, after: Owner | None) -> None:
        if not self._owners.replace(bucket, before, after):
            raise S3Error("OperationAborted")

    def _exists(self, bucket: str) -> bool:
        try:
            self._look_up(bucket)
        except S3Error as error:
            if error.code == "NoSuchBucket":
                return False
            if error.code != "AccessDenied":  # in another AWS account
                raise
        return True


def _require_free(owner: Owner | None) -> None:
    if not _is_past(owner, 0):
        raise S3Error("OperationAborted")


def _is_past(owner: Owner | None, seconds: int) -> bool:
    """Return True if so many seconds have passed since a call may have run."""
    return owner is None or _now() >= owner.busy + seconds * 1_000


def _now() -> int:
    return round(time.time() * 1_000)
