"""The buckets of listen calls: they are attached, so that S3 reports their events."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from bucketcast.aws.clients import aws_errors
from bucketcast.listen.listener import ListenFilter
from bucketcast.telemetry import logger

_ATTACHED_SECONDS: Final = 5.0
_REPORT_SECONDS: Final = 3_600.0


class HeardBuckets:
    """Makes buckets heard, and logs those that are not.

    `attach` attaches a bucket. `not_heard` returns which buckets a call for all buckets does not
    report, "" if none. Both may block.
    """

    def __init__(self, attach: Callable[[str], None], not_heard: Callable[[], str]) -> None:
        self._attach = attach
        self._not_heard = not_heard
        self._attachments: dict[str, tuple[float, asyncio.Future[None]]] = {}
        self._reported_at = -_REPORT_SECONDS
        self._report: asyncio.Task[None] | None = None

    async def make_heard(self, listen_filter: ListenFilter) -> None:
        """Attach what a call asks for.

        Raises:
            S3Error: the bucket cannot be attached.
        """
        if listen_filter.bucket:
            await self._attach_once(listen_filter.bucket)
        if listen_filter.of_all_objects:
            self._report_not_heard()

    async def _attach_once(self, bucket: str) -> None:
        """Attach a bucket, once for concurrent calls."""
        now = time.monotonic()
        self._attachments = {
            other: (began, task)
            for other, (began, task) in self._attachments.items()
            if began > now - _ATTACHED_SECONDS
        }
        if bucket not in self._attachments:
            attachment = asyncio.ensure_future(asyncio.to_thread(self._attach, bucket))
            self._attachments[bucket] = (now, attachment)
        try:
            await asyncio.shield(self._attachments[bucket][1])
        except Exception:
            self._attachments.pop(bucket, None)
            raise

    def _report_not_heard(self) -> None:
        """Log which buckets are not heard, now and then: the response has no place for it."""
        now = time.monotonic()
        if now - self._reported_at < _REPORT_SECONDS:
            return
        self._reported_at = now
        self._report = asyncio.create_task(asyncio.to_thread(self._log_not_heard))

    def _log_not_heard(self) -> None:
        try:
            with aws_errors():
                reason = self._not_heard()
        except Exception as error:  # noqa: BLE001 - nothing but the log depends on it
            reason = f"buckets cannot be listed: {error}"
        if reason:
            logger.info("a client listens to all buckets", reason=reason)
