"""`/topics`, `/notifications` and `/subscriptions`: bucket names that Ceph reserves."""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Scope

from bucketcast.control.authentication import Authenticator
from bucketcast.control.errors import S3Error
from bucketcast.control.pubsub import responses
from bucketcast.control.pubsub.actions import PubsubActions
from bucketcast.control.topic_api import IsSecure, Refusal, TopicApi, TopicCall

RESERVED: Final = ("notifications", "subscriptions", "topics")


class Pubsub(TopicApi):
    """Answers the calls of these paths while `pull` is on; all others go to `others`."""

    services = ("s3", "sns")
    media_type = "application/json"
    max_bytes = 1 << 16

    def __init__(
        self,
        gate: Authenticator,
        is_secure: IsSecure,
        others: ASGIApp,
        actions: PubsubActions,
        pull: Callable[[], bool],
    ) -> None:
        super().__init__(gate, is_secure, others)
        self._pull = pull
        self._actions = actions

    async def is_on(self) -> bool:
        return await asyncio.to_thread(self._pull)

    def is_own(self, scope: Scope) -> bool:
        """Return whether the path names such a bucket, and the host none."""
        path = scope["raw_path"].decode("latin-1")
        if path.split("/", 2)[1:2] not in [[name] for name in RESERVED]:
            return False
        try:
            return self.gate.read(scope).bucket in RESERVED
        except S3Error:
            return False

    def run(self, call: TopicCall) -> bytes:
        return self._actions(call)

    def refused(self, what: Refusal) -> bytes:
        return responses.refused(what)
