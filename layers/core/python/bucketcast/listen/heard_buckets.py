"""The buckets of listen calls: they are attached, so that S3 reports their events."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from bucketcast.rules import Rule
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.threads import in_thread

_ATTACHED_SECONDS: Final = 5.0


class HeardBuckets:
    """Makes buckets heard; `attach` attaches one, and may block."""

    def __init__(self, attach: Callable[[str, Sequence[Rule]], None]) -> None:
        self._attach = attach
        self._attachments: dict[Rule, tuple[float, asyncio.Future[None]]] = {}

    async def make_heard(self, admitted: AuthenticatedRequest, asked: Rule) -> None:
        """Attach the bucket of a call, once for concurrent calls that ask for the same.

        Raises:
            S3Error: the bucket cannot be attached, or does not send what is asked for.
        """
        now = time.monotonic()
        self._attachments = {
            other: (began, task)
            for other, (began, task) in self._attachments.items()
            if began > now - _ATTACHED_SECONDS
        }
        if asked not in self._attachments:
            attachment = asyncio.ensure_future(
                in_thread(admitted.confirmed(), self._attach, asked.bucket, [asked])
            )
            self._attachments[asked] = (now, attachment)
        try:
            await asyncio.shield(self._attachments[asked][1])
        except Exception:
            self._attachments.pop(asked, None)
            raise
