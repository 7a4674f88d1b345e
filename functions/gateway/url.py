"""A call of a function URL as an ASGI scope, and the answer back: bytes of the target untouched."""

import asyncio
import base64
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp

_TEXTS = ("text/", "application/xml", "application/json")


async def answer(app: ASGIApp, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the application's answer to a call, both in payload format 2.0."""
    text: str = event.get("body") or ""
    body = base64.b64decode(text) if event.get("isBase64Encoded") else _bytes(text, "utf-8")
    messages: list[MutableMapping[str, Any]] = []
    unread = [body]

    async def receive() -> MutableMapping[str, Any]:
        if not unread:
            # A client that is gone ends nothing: the answer is Lambda's to give.
            await asyncio.Event().wait()
        return {"type": "http.request", "body": unread.pop(), "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    try:
        await app(_scope(event, len(body)), receive, send)
    except Exception:
        # The framework answers and logs an error, and raises it again for its server.
        if not _is_whole(messages):
            raise
    return _response(messages)


def _scope(event: Mapping[str, Any], size: int) -> MutableMapping[str, Any]:
    http = event["requestContext"]["http"]
    headers = {name.lower(): value for name, value in event["headers"].items()}
    if size:
        # Lambda counts it itself: a client that sent it in chunks has none.
        headers.setdefault("content-length", str(size))
        headers.pop("transfer-encoding", None)
    path = event["rawPath"]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": http["method"],
        "scheme": "https",
        "path": unquote(path),
        "raw_path": _bytes(path),
        "root_path": "",
        "query_string": _bytes(event.get("rawQueryString", "")),
        "headers": [(_bytes(name), _bytes(value)) for name, value in headers.items()],
        "client": (http.get("sourceIp", ""), 0),
        "server": None,
    }


def _bytes(text: str, encoding: str = "latin-1") -> bytes:
    """Return a text as on the wire, however Lambda decoded it; the application reads either."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def _is_whole(messages: list[MutableMapping[str, Any]]) -> bool:
    return len(messages) > 1 and not messages[-1].get("more_body", False)


def _response(messages: list[MutableMapping[str, Any]]) -> dict[str, Any]:
    start = messages[0]
    body = b"".join(message.get("body", b"") for message in messages[1:])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    headers.pop("content-length", None)
    kind = headers.get("content-type", "application/xml")
    response = {"statusCode": start["status"], "headers": headers}
    with suppress(UnicodeDecodeError):
        if kind.startswith(_TEXTS):
            return {**response, "body": body.decode()}
    return {**response, "body": base64.b64encode(body).decode(), "isBase64Encoded": True}
