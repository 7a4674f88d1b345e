"""Events of buckets created and removed through the gateway; S3 does not notify of these.

On AWS, CloudTrail logs such calls by any client, if the deployment enables it. The gateway sends no
events of the buckets that CloudTrail logs, to avoid duplicates.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from bucketcast.event import Event
from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED
from bucketcast.mirror.synthetic import time_of
from bucketcast.shapes import minio
from bucketcast.telemetry import logger
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler, Send
from bucketcast.web.threads import in_thread

_EVENTS: Final = {"PUT": BUCKET_CREATED, "DELETE": BUCKET_REMOVED}
_publications: set["asyncio.Task[None]"] = set()


class BucketEvents:
    """Wraps the proxy to S3; `notify` gets a bucket, an event and its record, and may block.

    `attach` gets a created bucket and `forget` a removed one, before S3's answer is sent on: the
    client may use the bucket, or take its name again, at once. One that is gone already is
    forgotten too: it was removed elsewhere, or the gateway ended before it had forgotten it.
    """

    def __init__(
        self,
        forward: Handler,
        notify: Callable[[str, str, str], None],
        region: str,
        *,
        attach: Callable[[str], object],
        forget: Callable[[str], object],
    ) -> None:
        self._forward = forward
        self._attach = attach
        self._forget = forget
        self._notify = notify
        self._region = region

    async def __call__(self, admitted: AuthenticatedRequest, send: Send) -> None:
        """Proxy a call, and send its event if S3 succeeds."""
        name = _name(admitted.call)
        if not name:
            await self._forward(admitted, send)
            return
        start: MutableMapping[str, Any] = {}

        async def send_on(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                gone = name == BUCKET_REMOVED and message["status"] == HTTPStatus.NOT_FOUND
                if gone or HTTPStatus.OK <= message["status"] < HTTPStatus.MULTIPLE_CHOICES:
                    await self._follow(name, admitted)
            await send(message)

        await self._forward(admitted, send_on)
        if HTTPStatus.OK <= start["status"] < HTTPStatus.MULTIPLE_CHOICES:
            headers = {key.decode().lower(): value.decode() for key, value in start["headers"]}
            event = _event(name, admitted, headers, self._region)
            task = asyncio.create_task(self._publish(event))
            _publications.add(task)
            task.add_done_callback(_publications.discard)

    async def _follow(self, name: str, admitted: AuthenticatedRequest) -> None:
        """Attach the created bucket, or remove what hangs on the removed one."""
        bucket = admitted.call.bucket
        follow, failure = {
            BUCKET_CREATED: (self._attach, "listeners to all buckets do not hear a created bucket"),
            BUCKET_REMOVED: (self._forget, "rules of a removed bucket may be left"),
        }[name]
        try:
            await in_thread(admitted.confirmed(), follow, bucket)
        except Exception as error:  # noqa: BLE001 - S3 has created or removed it all the same
            logger.error(failure, bucket=bucket, reason=str(error))

    async def _publish(self, event: Event) -> None:
        try:
            body = minio.records(event).decode()
            await asyncio.to_thread(self._notify, event.bucket, event.name, body)
        except Exception as error:  # noqa: BLE001 - S3 has already answered
            logger.error("listeners were not notified of a bucket", reason=str(error))


def _name(call: RawRequest) -> str:
    """Return the name of a call's event; "" if it creates or removes no bucket."""
    return _EVENTS.get(call.method, "") if call.is_of_bucket else ""


def _event(
    name: str, admitted: AuthenticatedRequest, headers: Mapping[str, str], region: str
) -> Event:
    """Return the event of a call that S3 has answered with these headers."""
    user, now = admitted.access_key, time.time_ns()
    return Event(
        name,
        admitted.call.bucket,
        key="",
        time=time_of(now // 1_000_000),
        sequencer=f"{now:X}",
        stored=msgspec.Raw(),
        region=region,
        principal=user,
        owner=user,
        source_ip=admitted.peer,
        request_id=headers.get("x-amz-request-id", f"{now:X}"),
        host_id=headers.get("x-amz-id-2", ""),
        user_agent=admitted.call.headers.get("user-agent", ""),
    )
