"""The gateway's application, which lets anna make any call."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette

from bucketcast.gateway.app import S3, build
from bucketcast.gateway.proxy import Proxy
from bucketcast.web.request import RawRequest
from bucketcast.web.signature.sign import Credentials
from tests.unit.web import requests


def application(
    s3: Any,
    *,
    judge: Any = requests.allow,
    answers: Any = None,
    preflight: Any = None,
    domains: Sequence[str] = (),
    is_ready: Any = requests.ready,
) -> Starlette:
    """Return an application that asks S3 for what `answers` does not answer."""
    parts = (judge, answers or forward, s3)
    authenticator = requests.authenticator(requests.find, domains=domains)
    return build(S3(authenticator, *parts, preflight=preflight), is_ready=is_ready)


async def credentials() -> Credentials:
    """Return the keys that calls are forwarded with."""
    return Credentials("key", "secret")


@asynccontextmanager
async def proxy_to(serve: Any) -> AsyncIterator[Proxy]:
    """Serve S3 by this function, and return what forwards calls to it."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        proxy = Proxy(f"http://127.0.0.1:{port}", "us-east-1", credentials)
        try:
            yield proxy
        finally:
            await proxy.close()


def forward(_: RawRequest) -> None:
    """Answer nothing."""
