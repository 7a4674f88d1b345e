"""nats-py as a test wants it: one try, a short wait, and encrypted wherever that was asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

SECONDS = 2.0
"""How long it waits for the server."""


class _Encrypting(Client):
    """Encrypts also where the server leaves it to the client."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - the client's own
        info["tls_required"] = True
        await super()._process_info(info, initial_connection)


@asynccontextmanager
async def connected(address: str, **options: Any) -> AsyncIterator[Client]:
    """A client with a connection to `address`; `options` are those of nats-py."""
    trying = True

    async def failed(error: Exception) -> None:
        if trying:
            raise error

    client = _Encrypting() if "tls" in options else Client()
    try:
        async with asyncio.timeout(SECONDS):
            await client.connect(
                f"nats://{address}", error_cb=failed, allow_reconnect=False, **options
            )
        trying = False
        yield client
    finally:
        trying = False
        if client.is_connected:
            await client.close()
        elif client._transport:  # its `close` would wait for ever after a failed handshake
            client._transport.close()  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)
