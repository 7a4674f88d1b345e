"""The frame of an API about topics: which calls are its own, and one way to answer and to fail."""

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.aws.clients import aws_errors
from bucketcast.control.authentication import AuthenticatedRequest, Authenticator
from bucketcast.control.errors import as_s3_error
from bucketcast.control.request import RawRequest
from bucketcast.control.request_body import ClientDisconnected, RequestStream
from bucketcast.topics.errors import TopicError
from bucketcast.users import User

IsSecure = Callable[[Mapping[str, Any], Mapping[str, str]], bool]


class Refusal(NamedTuple):
    """An error response of any of these APIs."""

    status: HTTPStatus
    code: str
    message: str
    request_id: str


@dataclass(frozen=True, slots=True)
class TopicCall:
    """An authenticated call: its body, whether it came over HTTPS, and its request id."""

    admitted: AuthenticatedRequest
    body: bytes
    secure: bool
    request_id: str

    @property
    def user(self) -> User:
        return self.admitted.user

    @property
    def request(self) -> RawRequest:
        return self.admitted.call


class TopicApi(ABC):
    """Answers the calls of one API; all others go to `others`."""

    services: ClassVar[tuple[str, ...]]
    """The allowed services in a signature's scope, the usual one first."""
    media_type: ClassVar[str]
    max_bytes: ClassVar[int]

    def __init__(self, gate: Authenticator, is_secure: IsSecure, others: ASGIApp) -> None:
        self.gate = gate
        self._is_secure = is_secure
        self._others = others

    async def is_on(self) -> bool:
        """Return whether the deployment has this API."""
        return True

    @abstractmethod
    def is_own(self, scope: Scope) -> bool:
        """Return whether a call is this API's."""

    @abstractmethod
    def run(self, call: TopicCall) -> bytes:
        """Run a call and return the response's document.

        Raises:
            TopicError: it is impossible or forbidden.
            BucketcastError: AWS does not answer, or refuses.
        """

    @abstractmethod
    def refused(self, what: Refusal) -> bytes:
        """Return the document of an error."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call.

        Raises:
            ClientDisconnected: nobody waits for the response.
        """
        is_own = scope["type"] == "http" and self.is_own(scope)
        if not is_own or not await self._respond(scope, receive, send):
            await self._others(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a call; return False, with nothing read or sent, if this API is off."""
        request_id = str(uuid.uuid4())
        stream = RequestStream(scope, receive)
        status = HTTPStatus.OK
        try:
            if not await self.is_on():
                return False
            body = await self._answer(scope, stream, request_id)
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, a client reads it in its format
            refusal = await _refusal(error, stream, request_id)
            status, body = refusal.status, self.refused(refusal)
        headers = [
            (b"server", b"Bucketcast"),
            (b"content-type", self.media_type.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-amz-request-id", request_id.encode()),
        ]
        await send({"type": "http.response.start", "status": status.value, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else body
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return True

    async def _answer(self, scope: Scope, stream: RequestStream, request_id: str) -> bytes:
        admitted = await self.gate.admit(scope, stream, self.services)
        body = await admitted.body.read(self.max_bytes)
        secure = self._is_secure(scope, admitted.call.headers)
        return await asyncio.to_thread(self._run, TopicCall(admitted, body, secure, request_id))

    def _run(self, call: TopicCall) -> bytes:
        with aws_errors():
            return self.run(call)


async def _refusal(error: Exception, stream: RequestStream, request_id: str) -> Refusal:
    if isinstance(error, TopicError):
        return Refusal(error.status, error.code, str(error), request_id)
    shown = as_s3_error(error, request_id)
    if shown is error:
        await stream.drain()
    return Refusal(shown.status, shown.code, shown.message, request_id)
