"""Calls that are sent on to S3."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.web.errors import S3Error
from tests.unit.gateway.application import proxy_to
from tests.unit.web.requests import Response, Wire, authenticator, scope_of, signed


@pytest.mark.anyio
async def test_a_body_for_a_bucket_lost_meanwhile_does_not_reach_s3() -> None:
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

    scope = scope_of(signed("PUT", "/photos?policy", b"<Policy/>"), content_length="9")
    admitted = replace(await authenticator().authenticate(scope, receive), confirm=confirm)
    async with proxy_to(serve) as proxy:
        with pytest.raises(S3Error, match="AccessDenied"):
            await proxy(admitted, Response())
    assert calls == []
