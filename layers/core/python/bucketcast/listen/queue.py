"""A listener's queue, read asynchronously: a hundred of them wait for SQS at the same time."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from bucketcast.errors import BucketcastError
from bucketcast.web.signature.sign import Credentials, sign

WAIT_SECONDS: Final = 10
_MOST: Final = 10
_BATCH: Final = 10
_SILENT_SECONDS: Final = 30.0
_NO_QUEUE: Final = ("NonExistentQueue", "QueueDoesNotExist")


class Message(NamedTuple):
    """A received message; `sent` is Unix ms."""

    id: str
    receipt: str
    body: str
    sent: int


class QueueGoneError(BucketcastError):
    """The queue does not exist any more."""


class QueueTimeoutError(BucketcastError):
    """SQS does not answer, or refuses temporarily."""


class Sqs:
    """A client of SQS with persistent connections to `endpoint`."""

    def __init__(
        self, endpoint: str, region: str, login: Callable[[], Awaitable[Credentials]]
    ) -> None:
        self._endpoint = endpoint.rstrip("/") + "/"
        self._region = region
        self._login = login
        self._session: aiohttp.ClientSession | None = None

    async def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Call SQS by its JSON protocol.

        Raises:
            QueueGoneError: there is no such queue any more.
            QueueTimeoutError: SQS does not answer.
        """
        body = json.dumps(parameters).encode()
        parts = urlsplit(self._endpoint)
        headers = {
            "host": parts.netloc,
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"AmazonSQS.{operation}",
            "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        }
        try:
            login = await self._login()
            sign("POST", parts.path, "", headers, login, self._region, service="sqs")
            try:
                status, text = await self._post(body, headers)
            except aiohttp.ServerDisconnectedError:  # it just closed a persistent connection
                status, text = await self._post(body, headers)
        except (aiohttp.ClientError, BucketcastError, TimeoutError) as error:
            raise QueueTimeoutError(
                f"SQS does not answer: {error or type(error).__name__}"
            ) from None
        if status == HTTPStatus.OK:
            found: dict[str, Any] = json.loads(text) if text else {}
            return found
        if any(name in text for name in _NO_QUEUE):
            raise QueueGoneError("there is no such queue")
        raise QueueTimeoutError(f"SQS answers {status}: {text[:300]}")

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        async with self._open().post(self._endpoint, data=body, headers=headers) as answer:
            return answer.status, await answer.text()

    def _open(self) -> aiohttp.ClientSession:
        """Return the session, created inside the event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=3),
                timeout=aiohttp.ClientTimeout(total=WAIT_SECONDS + _SILENT_SECONDS, sock_connect=5),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


class Queue:
    """A listener's queue by its URL; received messages are hidden from others for a while."""

    def __init__(self, url: str, sqs: Sqs) -> None:
        self._url = url
        self._sqs = sqs

    async def receive(self, seconds: float) -> Sequence[Message]:
        """Wait up to `seconds` for messages.

        Raises:
            QueueGoneError: there is no such queue any more.
            QueueTimeoutError: SQS does not answer.
        """
        parameters = {
            "QueueUrl": self._url,
            "MaxNumberOfMessages": _MOST,
            "WaitTimeSeconds": max(0, min(20, round(seconds))),
            "MessageSystemAttributeNames": ["SentTimestamp"],
            "AttributeNames": ["SentTimestamp"],
        }
        found = await self._sqs.call("ReceiveMessage", parameters)
        return [
            Message(
                each["MessageId"],
                each["ReceiptHandle"],
                each["Body"],
                int(each["Attributes"]["SentTimestamp"]),
            )
            for each in found.get("Messages") or ()
        ]

    async def delete(self, receipts: Sequence[str]) -> None:
        await self._each("DeleteMessageBatch", receipts)

    async def release(self, receipts: Sequence[str]) -> None:
        """Make messages visible again at once."""
        await self._each("ChangeMessageVisibilityBatch", receipts, VisibilityTimeout=0)

    async def _each(self, operation: str, receipts: Sequence[str], **more: int) -> None:
        batches = []
        for start in range(0, len(receipts), _BATCH):
            entries = [
                {"Id": str(index), "ReceiptHandle": receipt, **more}
                for index, receipt in enumerate(receipts[start : start + _BATCH])
            ]
            parameters = {"QueueUrl": self._url, "Entries": entries}
            batches.append(self._sqs.call(operation, parameters))
        await asyncio.gather(*batches)
