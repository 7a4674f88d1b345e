"""A page in a browser uses a presigned URL: its preflight."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from tests.unit.gateway.application import application, proxy_to
from tests.unit.web.requests import HOST, Response, Wire, presigned, scope_of

ORIGIN = "https://app.example"
PREFLIGHT = {
    "host": HOST,
    "origin": ORIGIN,
    "access-control-request-method": "PUT",
    "access-control-request-headers": "content-type",
    "cookie": "session=private",
}
ALLOWED = b"access-control-allow-origin: https://app.example\r\naccess-control-max-age: 60\r\n"
REFUSED = b"<Error><Code>AccessForbidden</Code></Error>"


class Bucket:
    """S3 as it answers browsers, by a rule of the bucket; `heads` are the calls that it got."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if f"origin: {ORIGIN}" in head:
            writer.write(b"HTTP/1.1 200 OK\r\n" + ALLOWED + b"content-length: 0\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(REFUSED), REFUSED))
        await writer.drain()
        writer.close()


def called(
    scope: MutableMapping[str, Any], *, objects: bool = True
) -> tuple[int, Mapping[str, str], bytes, list[str]]:
    """Return status, headers and body of a response, and the calls that S3 got."""
    response, bucket = Response(), Bucket()

    async def run() -> None:
        async with proxy_to(bucket.serve) as proxy:
            preflight: Callable[..., Awaitable[None]] | None = proxy.preflight if objects else None
            app = application(proxy, preflight=preflight)
            scope["path"] = scope["raw_path"].decode()
            await app(scope, Wire(b""), response)

    asyncio.run(run())
    return response.status, response.headers, response.body, bucket.heads


def preflight(**changed: str) -> MutableMapping[str, Any]:
    scope = scope_of(presigned("PUT", "/images/a%2Fb.jpg"))
    headers = {**PREFLIGHT, **changed}.items()
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    return {**scope, "method": "OPTIONS", "headers": encoded}


def test_preflight_is_answered_by_s3_without_a_signature() -> None:
    status, headers, _, (head,) = called(preflight())
    assert (status, headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert headers["access-control-max-age"] == "60"
    first, *lines = head.lower().splitlines()
    assert first == "options /images/a%2fb.jpg http/1.1"
    names = {line.partition(":")[0] for line in lines if line}
    assert {"access-control-request-method", "access-control-request-headers"} < names
    assert names.isdisjoint(("authorization", "cookie", "x-amz-security-token"))


def test_a_preflight_that_s3_refuses_is_refused() -> None:
    status, headers, body, _ = called(preflight(origin="https://other.example"))
    assert (status, body) == (403, REFUSED)
    assert "access-control-allow-origin" not in headers


def test_preflight_is_refused_where_no_objects_are_forwarded() -> None:
    status, _, _, heads = called(preflight(), objects=False)
    assert (status, heads) == (403, [])
