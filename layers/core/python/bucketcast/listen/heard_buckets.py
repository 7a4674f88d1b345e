"""The buckets of listen calls: they are attached, so that S3 reports their events."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.threads import in_thread

_ATTACHED_SECONDS: Final = 5.0


class HeardBuckets:
    """Makes buckets heard; `attach` attaches one, and may block."""

    def __init__(self, attach: Callable[[str], None]) -> None:
        self._attach = attach
        self._attachments: dict[str, tuple[float, asyncio.Future[None]]] = {}

    async def make_heard(self, admitted: AuthenticatedRequest) -> None:
        """Attach the bucket of a call, once for concurrent calls.

        Raises:
            S3Error: the bucket cannot be attached.
        """
        bucket, now = admitted.call.bucket, time.monotonic()
        self._attachments = {
            other: (began, task)
            for other, (began, task) in self._attachments.items()
            if began > now - _ATTACHED_SECONDS
        }
        if bucket not in self._attachments:
            attachment = asyncio.ensure_future(
                in_thread(admitted.confirmed(), self._attach, bucket)
            )
            self._attachments[bucket] = (now, attachment)
        try:
            await asyncio.shield(self._attachments[bucket][1])
        except Exception:
            self._attachments.pop(bucket, None)
            raise
