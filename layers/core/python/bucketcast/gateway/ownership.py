"""The owners of buckets: who creates one through the gateway owns it until it is removed.

A bucket is claimed in the state table before S3 creates it. A claim is given up unless S3 creates
the bucket: else a user could claim a name that the operator gives to a bucket later. If the gateway
is killed in between, the user may try again. A claim that was left is taken over by the next user
who creates the bucket, but not while the call that made it may still run.
"""

import time
from collections.abc import Callable, MutableMapping
from http import HTTPStatus
from typing import Any, Final

from bucketcast.aws.clients import aws_errors
from bucketcast.errors import BucketcastError
from bucketcast.telemetry import logger
from bucketcast.users import User
from bucketcast.users.owners import Owner, Owners
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.responses import Handler, Send
from bucketcast.web.threads import in_thread

CLAIM_SECONDS: Final = 600
"""Longer than a call that creates a bucket: its body, the connection, and S3's answer."""


class Ownership:
    """Wraps the proxy to S3; `look_up` raises an `S3Error` if S3 has no such bucket, and blocks."""

    def __init__(self, forward: Handler, owners: Owners, look_up: Callable[[str], None]) -> None:
        self._forward = forward
        self._owners = owners
        self._look_up = look_up

    async def __call__(self, admitted: AuthenticatedRequest, send: Send) -> None:
        """Proxy a call; claim the bucket that it creates, give up the one that it removes.

        Raises:
            S3Error: the name is taken, by whomever, or another call creates the bucket just now.
        """
        call = admitted.call
        method = call.method if call.is_of_bucket else ""
        if method == "PUT":
            await self._create(admitted, send)
        elif method == "DELETE":
            await self._delete(admitted, send)
        else:
            await self._forward(admitted, send)

    async def _create(self, admitted: AuthenticatedRequest, send: Send) -> None:
        claim = await in_thread(admitted, self._claim, admitted.call.bucket, admitted.user)

        async def send_on(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    await self._settle(admitted, claim)
                elif status >= HTTPStatus.MULTIPLE_CHOICES:
                    await self._give_up(admitted, claim)
            await send(message)

        try:
            await self._forward(admitted, send_on)
        except Exception:
            await self._settle(admitted, claim)
            raise

    async def _delete(self, admitted: AuthenticatedRequest, send: Send) -> None:
        owner = await in_thread(admitted, self._read, admitted.call.bucket)

        async def send_on(message: MutableMapping[str, Any]) -> None:
            # Before the answer, after which the name may be anybody's.
            if message.get("status") == HTTPStatus.NO_CONTENT:
                await self._give_up(admitted, owner)
            await send(message)

        await self._forward(admitted, send_on)

    def _claim(self, bucket: str, user: User) -> Owner | None:
        """Claim a bucket; return the claim to give up if S3 refuses to create it."""
        with aws_errors():
            before = self._owners.get(bucket)
            is_own = before is not None and before.user == user.id
            if not is_own and self._exists(bucket):
                if user.admin:  # S3 answers, and the bucket stays whose it is
                    return None
                raise S3Error("BucketAlreadyExists", BucketName=bucket)
            if before and not is_own and time.time() < before.claimed / 1_000 + CLAIM_SECONDS:
                raise S3Error("OperationAborted")
            claim = self._owners.claim(bucket, user.id, before)
        if claim is None:
            raise S3Error("OperationAborted")
        return None if is_own else claim

    def _exists(self, bucket: str) -> bool:
        try:
            self._look_up(bucket)
        except S3Error as error:
            if error.code == "NoSuchBucket":
                return False
            if error.code != "AccessDenied":  # in another AWS account
                raise
        return True

    def _read(self, bucket: str) -> Owner | None:
        with aws_errors():
            return self._owners.get(bucket)

    async def _settle(self, admitted: AuthenticatedRequest, claim: Owner | None) -> None:
        """Give up a claim unless S3 has created the bucket, whatever it answered."""
        try:
            created = await in_thread(admitted.confirmed(), self._exists, admitted.call.bucket)
        except BucketcastError:
            created = False  # nobody owns what may be another's
        if not created:
            await self._give_up(admitted, claim)

    async def _give_up(self, admitted: AuthenticatedRequest, owner: Owner | None) -> None:
        if owner is None:
            return
        bucket = admitted.call.bucket
        try:
            await in_thread(admitted.confirmed(), self._remove, bucket, owner)
        except BucketcastError as error:
            logger.error("the owner of a bucket is left", bucket=bucket, reason=str(error))

    def _remove(self, bucket: str, owner: Owner) -> None:
        with aws_errors():
            self._owners.remove(bucket, owner)
