"""Serve the console with uvicorn."""

import socket
from typing import Final

import uvicorn

from bucketcast.console.app import create_app
from bucketcast.console.context import Context
from bucketcast.console.security import HOST, TOKEN

__all__ = ["Context", "address", "listen", "serve"]
_STOP_SECONDS: Final = 1
"""Live parts of pages never end by themselves."""


def listen(port: int) -> socket.socket:
    """Listen on a port of this machine, on any free one for 0.

    Raises:
        OSError: the port is taken.
    """
    return socket.create_server((HOST, port))


def address(listener: socket.socket, token: str) -> str:
    """Return what to open in a browser."""
    return f"http://{HOST}:{listener.getsockname()[1]}/?{TOKEN}={token}"


def serve(context: Context, token: str, listener: socket.socket) -> None:
    """Serve until interrupted."""
    app = create_app(context, token, listener.getsockname()[1])
    configuration = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    uvicorn.Server(configuration).run(sockets=[listener])
