"""nats-py for tests: no retries, a short time-out, and encryption wherever it is requested."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

SECONDS = 20.0
"""The time-out for connecting."""


class _Encrypting(Client):
    """A client that encrypts even if the server does not require it."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - the client's own
        info["tls_required"] = True
        await super()._process_info(info, initial_connection)


@asynccontextmanager
async def connect(address: str, **options: Any) -> AsyncIterator[Client]:
    """Connect a client to `address`; `options` are those of nats-py."""
    connecting = True

    async def raise_error(error: Exception) -> None:
        if connecting:
            raise error

    client = _Encrypting() if "tls" in options else Client()
    try:
        async with asyncio.timeout(SECONDS):
            await client.connect(
                f"nats://{address}", error_cb=raise_error, allow_reconnect=False, **options
            )
        connecting = False
        yield client
    finally:
        connecting = False
        if client.is_connected:
            await client.close()
        elif client._transport:  # the client's `close` never returns after a failed handshake
            client._transport.close()  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)
