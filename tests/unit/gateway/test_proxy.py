"""Calls that are sent on to S3."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.gateway.proxy import Proxy
from bucketcast.web.errors import S3Error
from bucketcast.web.signature.sign import Credentials
from tests.unit.web.requests import Response, Wire, authenticator, scope_of, signed


async def credentials() -> Credentials:
    return Credentials("key", "secret")


def test_a_body_for_a_bucket_lost_meanwhile_does_not_reach_s3() -> None:
    """The bucket may be removed meanwhile, and made again by another user."""
    calls: list[bytes] = []
    wire, is_owned = Wire(b"<Policy/>", 3), True

    async def receive() -> MutableMapping[str, Any]:
        nonlocal is_owned
        is_owned = False
        return await wire()

    async def confirm() -> None:
        if not is_owned:
            raise S3Error("AccessDenied")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            proxy = Proxy(f"http://127.0.0.1:{port}", "us-east-1", credentials)
            scope = scope_of(signed("PUT", "/photos?policy", b"<Policy/>"), content_length="9")
            admitted = await authenticator().authenticate(scope, receive)
            try:
                await proxy(replace(admitted, confirm=confirm), Response())
            finally:
                await proxy.close()

    with pytest.raises(S3Error, match="AccessDenied"):
        asyncio.run(run())
    assert calls == []
