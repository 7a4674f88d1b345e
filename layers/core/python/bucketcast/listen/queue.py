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
BATCH: Final = 10
_SENT: Final = "SentTimestamp"
_TIMEOUT_SECONDS: Final = 30.0
_NO_QUEUE: Final = ("NonExistentQueue", "QueueDoesNotExist")


class Message(NamedTuple):
    """A received message; `sent` is Unix ms."""

    id: str
    receipt: str
    body: str
    sent: int


class QueueNotFoundError(BucketcastError):
    """The queue does not exist, or no longer."""


class QueueUnavailableError(BucketcastError):
    """SQS does not answer, or refuses temporarily."""


class Sqs:
    """A client of SQS with persistent connections to `endpoint`."""

    def __init__(
        self, endpoint: str, region: str, credentials: Callable[[], Awaitable[Credentials]]
    ) -> None:
        self._endpoint = endpoint.rstrip("/") + "/"
        self._region = region
        self._credentials = credentials
        self._session: aiohttp.ClientSession | None = None

    async def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Call SQS by its JSON protocol.

        Raises:
            QueueNotFoundError: the queue does not exist.
            QueueUnavailableError: SQS does not answer, or refuses temporarily.
        """
        body = json.dumps(parameters).encode()
        url = urlsplit(self._endpoint)
        headers = {
            "host": url.netloc,
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"AmazonSQS.{operation}",
            "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        }
        try:
            credentials = await self._credentials()
            sign("POST", url.path, "", headers, credentials, self._region, service="sqs")
            try:
                status, content = await self._post(body, headers)
            except aiohttp.ServerDisconnectedError:  # it just closed a persistent connection
                status, content = await self._post(body, headers)
        except (aiohttp.ClientError, BucketcastError, TimeoutError) as error:
            raise QueueUnavailableError(
                f"SQS does not answer: {error or type(error).__name__}"
            ) from None
        if status == HTTPStatus.OK:
            response: dict[str, Any] = json.loads(content) if content else {}
            return response
        if any(name in content for name in _NO_QUEUE):
            raise QueueNotFoundError("there is no such queue")
        raise QueueUnavailableError(f"SQS answers {status}: {content[:300]}")

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        async with self._get_session().post(self._endpoint, data=body, headers=headers) as response:
            return response.status, await response.text()

    def _get_session(self) -> aiohttp.ClientSession:
        """Return the session, created at first use since that must be inside the event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=3),
                timeout=aiohttp.ClientTimeout(
                    total=WAIT_SECONDS + _TIMEOUT_SECONDS, sock_connect=5
                ),
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
            QueueNotFoundError: the queue does not exist.
            QueueUnavailableError: SQS does not answer, or refuses temporarily.
        """
        parameters = {
            "QueueUrl": self._url,
            "MaxNumberOfMessages": BATCH,
            "WaitTimeSeconds": max(0, min(20, round(seconds))),
            "MessageSystemAttributeNames": [_SENT],
            "AttributeNames": [_SENT],
        }
        response = await self._sqs.call("ReceiveMessage", parameters)
        return [
            Message(
                message["MessageId"],
                message["ReceiptHandle"],
                message["Body"],
                int(message["Attributes"][_SENT]),
            )
            for message in response.get("Messages") or ()
        ]

    async def delete(self, receipts: Sequence[str]) -> None:
        await self._call_in_batches("DeleteMessageBatch", receipts)

    async def release(self, receipts: Sequence[str], seconds: int = 0) -> None:
        """Make messages visible again in so many seconds."""
        await self._call_in_batches(
            "ChangeMessageVisibilityBatch", receipts, VisibilityTimeout=seconds
        )

    async def _call_in_batches(
        self, operation: str, receipts: Sequence[str], **parameters: int
    ) -> None:
        batches = []
        for start in range(0, len(receipts), BATCH):
            entries = [
                {"Id": str(index), "ReceiptHandle": receipt, **parameters}
                for index, receipt in enumerate(receipts[start : start + BATCH])
            ]
            batch = {"QueueUrl": self._url, "Entries": entries}
            batches.append(self._sqs.call(operation, batch))
        await asyncio.gather(*batches)
