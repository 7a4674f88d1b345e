"""Requests as botocore signs them, and as the authenticator reads them."""

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bucketcast.users import Account, User
from bucketcast.web.authentication import Authenticator, FindAccount

ACCESS, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"
HOST = "gateway.example:9100"
ANNA, BOB = User("a1", "anna", "", (ACCESS,)), User("b1", "bob", "", ("BOB",))


def signed(
    method: str,
    target: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    region: str = REGION,
    secret: str = SECRET,
) -> AWSRequest:
    """A request with its signature in the headers; `target` is path and query as sent."""
    request = AWSRequest(method, f"http://{HOST}{target}", dict(headers or {}), body)
    S3SigV4Auth(Credentials(ACCESS, secret), "s3", region).add_auth(request)
    return request


def presigned(method: str, target: str, expires: int = 60) -> AWSRequest:
    """A request with its signature in the query."""
    request = AWSRequest(method, f"http://{HOST}{target}")
    S3SigV4QueryAuth(Credentials(ACCESS, SECRET), "s3", REGION, expires=expires).add_auth(request)
    return request


def scope_of(request: AWSRequest, **changed: str) -> MutableMapping[str, Any]:
    """The ASGI scope of a request; `changed` headers replace its own."""
    parts = urlsplit(str(request.url))
    headers = {"host": HOST, **{name.lower(): value for name, value in request.headers.items()}}
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    return {
        "type": "http",
        "method": request.method,
        "raw_path": (parts.path or "/").encode(),
        "query_string": parts.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


async def find(access_key: str) -> Account | None:
    """Find anna, or bob, who has the same secret."""
    user = {ACCESS: ANNA, "BOB": BOB}.get(access_key)
    return Account(user, SECRET) if user else None


def authenticator(find: FindAccount = find, **more: Any) -> Authenticator:
    async def find_user(access_key: str) -> User | None:
        account = await find(access_key)
        return account.user if account else None

    return Authenticator(find, find_user, **more)


class Wire:
    """A body as it comes, in pieces of so many bytes."""

    def __init__(self, body: bytes, size: int = 1 << 20) -> None:
        self._parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        self.read = 0

    async def __call__(self) -> MutableMapping[str, Any]:
        self.read += 1
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts)}


class Response:
    """What an application sends; header names are lower-case."""

    def __init__(self) -> None:
        self.messages: list[MutableMapping[str, Any]] = []

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


def answer(app: Any, scope: Mapping[str, Any], body: bytes = b"") -> Response:
    """Let an application answer a request."""
    response = Response()
    path = {"path": scope["raw_path"].decode(), "root_path": ""}
    asyncio.run(app({**scope, **path}, Wire(body), response))
    return response


async def ready() -> None:
    """Be a deployment that AWS answers for."""


def allow(*_: Any) -> None:
    """Judge that a call may be made."""
