"""Serve the gateway of one deployment with uvicorn."""

import gc
import resource
import socket
from collections.abc import Sequence
from typing import Final

import uvicorn
from starlette.applications import Starlette

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.gateway.factory import create_app
from bucketcast.gateway.protocol import Protocol
from bucketcast.limits import MOST_CONNECTIONS
from bucketcast.web.secure import SecureCalls

_BACKLOG: Final = 1_024
STOP_SECONDS: Final = 8
"""The seconds that calls have to end once the gateway is to stop: Docker kills it after ten."""
OPEN_FILES: Final = 3 * MOST_CONNECTIONS
"""A connection of a client may need one to S3 and one to another service of AWS."""


def serve(
    deployment: Deployed,
    aws: Aws,
    *,
    host: str,
    port: int,
    domains: Sequence[str],
    secure_calls: SecureCalls,
) -> None:
    """Serve until interrupted; `secure_calls` decides which calls count as sent over HTTPS.

    Raises:
        OSError: the address cannot be bound.
    """
    app = create_app(
        deployment.stack, deployment.state_table, aws, domains=domains, secure_calls=secure_calls
    )
    allow_open_files()
    with socket.create_server((host, port), backlog=_BACKLOG) as listener:
        # A collection stops all calls: one of all objects takes 0.1 s with 2,000 connections. It
        # is ten times as rare as by default, and does not look at what the libraries hold.
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], 100)
        Server(configure(app)).run(sockets=[listener])


def configure(app: Starlette) -> uvicorn.Config:
    """Return uvicorn's settings, whose server adds a `Date` to each response."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=65,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def allow_open_files() -> None:
    """Let the process open as many files as its connections need, if the system lets it.

    Shells usually allow 1,024, which so many idle connections of strangers would use up.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class Server(uvicorn.Server):
    """A server that sweeps listeners from its start, and does not wait for streams to stop."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.config.app.state.listen.keep()  # type: ignore[union-attr]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.listen.close()  # type: ignore[union-attr]
        await super().shutdown(sockets)
