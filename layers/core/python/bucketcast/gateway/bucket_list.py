"""ListBuckets for users who may see some buckets only: S3's answer without the others."""

import asyncio
import re
from collections.abc import MutableMapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.responses import Handler, Send

_ROOT: Final = b"<ListAllMyBucketsResult"
_BEGIN: Final = re.compile(rb"<Bucket[\s>]")
_BUCKET: Final = re.compile(rb"<Bucket>.*?<Name>([^<]*)</Name>.*?</Bucket>", re.DOTALL)


class BucketList:
    """Wraps the proxy to S3; administrators get its list of buckets as it is."""

    def __init__(self, forward: Handler) -> None:
        self._forward = forward

    async def __call__(self, admitted: AuthenticatedRequest, send: Send) -> None:
        """Proxy a call; leave out of a list of buckets what the user may not see."""
        user = admitted.user
        if user.admin or admitted.call.bucket:
            await self._forward(admitted, send)
            return
        start: MutableMapping[str, Any] = {}
        body = bytearray()

        async def collect(message: MutableMapping[str, Any]) -> None:
            start.update(message if message["type"] == "http.response.start" else {})
            body.extend(message.get("body", b""))

        await self._forward(_uncompressed(admitted), collect)
        content = bytes(body)
        if start["status"] == HTTPStatus.OK:
            # In a thread, since a user may have a hundred patterns for ten thousand buckets.
            content = await asyncio.to_thread(_filter, content, user)
        headers = [pair for pair in start["headers"] if pair[0] != b"content-length"]
        length = (b"content-length", str(len(content)).encode())
        await send({**start, "headers": [*headers, length]})
        await send({"type": "http.response.body", "body": content, "more_body": False})


def _uncompressed(admitted: AuthenticatedRequest) -> AuthenticatedRequest:
    call = admitted.call
    headers = {name: value for name, value in call.headers.items() if name != "accept-encoding"}
    return replace(admitted, call=replace(call, headers=headers))


def _filter(document: bytes, user: User) -> bytes:
    """Return the document with the buckets on which the user has any right.

    Raises:
        ValueError: it is not as S3 writes it, so that others might be left in it.
    """
    buckets = _BUCKET.findall(document)
    if _ROOT not in document or len(buckets) != len(_BEGIN.findall(document)):
        raise ValueError("S3's list of buckets cannot be read")
    return _BUCKET.sub(
        lambda found: found[0] if user.rights_on(found[1].decode()) else b"", document
    )
