"""Buckets made and removed through the gateway, told to listeners: S3 itself notifies of neither.

On AWS CloudTrail tells of them, whoever makes them; where the deployment has a trail the gateway
says nothing, so that nothing is said twice.
"""

import asyncio
import time
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import msgspec

from bucketcast.control.answer import Answer, Send
from bucketcast.control.call import Call
from bucketcast.control.gate import Admitted
from bucketcast.names import BUCKET_CREATED, BUCKET_REMOVED
from bucketcast.telemetry import logger

_NAMES: Final = {"PUT": BUCKET_CREATED, "DELETE": BUCKET_REMOVED}
_NO_SUBRESOURCE: Final = ("x-id",)
_SIGNATURE: Final = "x-amz-"
_at_work: set["asyncio.Task[None]"] = set()


class BucketEvents:
    """Stands before the way on to S3; `tell` takes the body of a notification, and may wait."""

    def __init__(self, forward: Answer, tell: Callable[[str], None], region: str) -> None:
        self._forward = forward
        self._tell = tell
        self._region = region

    async def __call__(self, admitted: Admitted, send: Send) -> None:
        """Let S3 answer, and tell of what it did."""
        name = _name(admitted.call)
        if not name:
            await self._forward(admitted, send)
            return
        start: MutableMapping[str, Any] = {}

        async def seen(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            await send(message)

        await self._forward(admitted, seen)
        if HTTPStatus.OK <= start["status"] < HTTPStatus.MULTIPLE_CHOICES:
            headers = {key.decode().lower(): value.decode() for key, value in start["headers"]}
            told = asyncio.create_task(self._told(_record(name, admitted, headers, self._region)))
            _at_work.add(told)
            told.add_done_callback(_at_work.discard)

    async def _told(self, record: dict[str, Any]) -> None:
        try:
            await asyncio.to_thread(self._tell, msgspec.json.encode({"Records": [record]}).decode())
        except Exception as error:  # noqa: BLE001 - the bucket is made, or removed, all the same
            logger.error("listeners were not told of a bucket", reason=str(error))


def _name(call: Call) -> str:
    """The event of a call; "" where it makes and removes no bucket."""
    if not call.bucket or call.key:
        return ""
    asked = {name.lower() for name in call.asked}
    plain = all(name in _NO_SUBRESOURCE or name.startswith(_SIGNATURE) for name in asked)
    return _NAMES.get(call.method, "") if plain else ""


def _record(name: str, admitted: Admitted, headers: dict[str, str], region: str) -> dict[str, Any]:
    """The record as MinIO writes it."""
    user, bucket, now = admitted.user.access_key, admitted.call.bucket, time.time_ns()
    at = datetime.fromtimestamp(now / 1e9, UTC)
    return {
        "eventVersion": "2.0",
        "eventSource": "minio:s3",
        "awsRegion": region,
        "eventTime": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1_000:03}Z",
        "eventName": name,
        "userIdentity": {"principalId": user},
        "requestParameters": {
            "principalId": user,
            "region": region,
            "sourceIPAddress": admitted.peer,
        },
        "responseElements": {
            "content-length": "0",
            "x-amz-id-2": headers.get("x-amz-id-2", ""),
            "x-amz-request-id": headers.get("x-amz-request-id", f"{now:X}"),
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "Config",
            "bucket": {
                "name": bucket,
                "ownerIdentity": {"principalId": user},
                "arn": f"arn:aws:s3:::{bucket}",
            },
            "object": {"key": "", "sequencer": f"{now:X}"},
        },
        "source": {
            "host": admitted.peer,
            "port": "",
            "userAgent": admitted.call.headers.get("user-agent", ""),
        },
    }
