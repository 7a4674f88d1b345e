"""Calls that are sent on to S3."""

import asyncio
from collections.abc import MutableMapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.gateway.proxy import SMALL
from bucketcast.web.errors import S3Error
from tests.unit.gateway.application import proxy_to
from tests.unit.web.requests import Response, Wire, authenticator, presigned, scope_of, signed


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "size"), [("PUT", 1 << 20), ("PUT", 9), ("GET", 1 << 20)])
async def test_a_body_ends_with_the_rights_of_its_user(
    method: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that sends or reads for hours is judged again while it does."""
    monkeypatch.setattr("bucketcast.web.authentication.CONFIRM_SECONDS", 0.02)
    has_begun, is_closed, aborted = asyncio.Event(), asyncio.Event(), asyncio.Event()
    is_small = size <= SMALL

    async def receive() -> MutableMapping[str, Any]:
        if method == "PUT" and not has_begun.is_set():
            await asyncio.sleep(0)
            if is_small:
                has_begun.set()
            return {"type": "http.request", "body": b"a" * min(1_000, size - 1), "more_body": True}
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def confirm() -> None:
        if has_begun.is_set():
            raise S3Error("InvalidAccessKeyId")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if method == "GET":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\nbegin" % size)
        has_begun.set()
        await reader.read()
        is_closed.set()
        writer.close()

    request = signed(method, "/photos/a", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    more = {"content_length": str(size)} if method == "PUT" else {}
    call = await authenticator().authenticate(scope_of(request, **more), receive)
    admitted = replace(call, confirm=confirm, abort=aborted.set)
    async with proxy_to(serve) as proxy, asyncio.timeout(10):
        with pytest.raises(S3Error) if method == "PUT" else nullcontext():
            await proxy(admitted, Response())
        if not is_small:
            await is_closed.wait()
    assert aborted.is_set()


@pytest.mark.anyio
async def test_headers_in_a_presigned_query_are_headers_at_s3() -> None:
    calls: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def call(query: str) -> None:
        scope = scope_of(presigned("PUT", f"/photos/a?{query}"))
        await proxy(await authenticator().authenticate(scope, Wire(b"")), Response())

    async with proxy_to(serve) as proxy:
        await call("x-id=PutObject&X-Amz-Acl=private&x-amz-meta-note=a%20%C3%A9&X-Amz-Meta-B=c%2Cd")
        for text in ("note=a%0D%0Ax-amz-acl:public-read", "b%20=c", "b:c=", "%D9%A0=c"):
            with pytest.raises(S3Error, match="a header in the query has no valid name or value"):
                await call(f"x-amz-meta-{text}")
    line, *headers = calls[0].decode().splitlines()
    assert line == "PUT /photos/a?x-id=PutObject HTTP/1.1"
    assert {"x-amz-acl: private", "x-amz-meta-note: a é", "x-amz-meta-b: c,d"} <= set(headers)


@pytest.mark.anyio
async def test_a_body_that_s3_refuses_before_is_not_asked_for() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    request = signed("PUT", "/photos/a", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    more = {"content_length": str(2 * SMALL), "expect": "100-continue"}
    wire, response = Wire(b"a" * 2 * SMALL), Response()
    async with proxy_to(serve) as proxy:
        await proxy(await authenticator().authenticate(scope_of(request, **more), wire), response)
    assert (response.status, wire.read) == (403, 0)
