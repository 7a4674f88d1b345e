"""`/topics`, `/notifications` and `/subscriptions`: bucket names that Ceph reserves."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.aws.clients import aws_errors
from bucketcast.control.authentication import Authenticator
from bucketcast.control.errors import S3Error
from bucketcast.control.pubsub import responses
from bucketcast.control.pubsub.actions import PubsubActions, PubsubCall
from bucketcast.control.request_body import RequestStream
from bucketcast.control.topic_calls import Format, respond

RESERVED: Final = ("notifications", "subscriptions", "topics")
SERVICES: Final = ("s3", "sns")
_BODY_BYTES: Final = 1 << 16
_JSON: Final = Format("application/json", responses.refused)


class Pubsub:
    """Answers the calls of these paths while `is_on`; all others go to `others`."""

    def __init__(
        self,
        gate: Authenticator,
        actions: PubsubActions,
        is_secure: Callable[[Mapping[str, Any], Mapping[str, str]], bool],
        is_on: Callable[[], bool],
        others: ASGIApp,
    ) -> None:
        self._gate = gate
        self._actions = actions
        self._is_secure = is_secure
        self._is_on = is_on
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._may_be_ours(scope) and await respond(scope, receive, send, self._answer, _JSON):
            return
        await self._others(scope, receive, send)

    def _may_be_ours(self, scope: Scope) -> bool:
        """Return whether the path names such a bucket, and the host none."""
        if scope["type"] != "http":
            return False
        path = scope["raw_path"].decode("latin-1")
        if path.split("/", 2)[1:2] not in [[name] for name in RESERVED]:
            return False
        try:
            return self._gate.read(scope).bucket in RESERVED
        except S3Error:
            return False

    async def _answer(self, scope: Scope, wire: RequestStream, request_id: str) -> bytes | None:
        if not await asyncio.to_thread(self._is_on):
            return None
        admitted = await self._gate.admit(scope, wire, SERVICES)
        await admitted.body.read(_BODY_BYTES)
        secure = self._is_secure(scope, admitted.call.headers)
        call = PubsubCall(admitted.user, admitted.call, secure, request_id)
        return await asyncio.to_thread(self._done, call)

    def _done(self, call: PubsubCall) -> bytes:
        with aws_errors():
            return self._actions(call)
