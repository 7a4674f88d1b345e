"""The paths of the console and their views, served with uvicorn."""

import socket
from threading import Thread
from typing import Final

import click
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bucketcast.console import (
    changes,
    dead_letters,
    events,
    flow,
    rules,
    target,
    topics,
)
from bucketcast.console.answers import Answer, error_page
from bucketcast.console.context import Context
from bucketcast.console.pages import FOLDER, form
from bucketcast.console.recorder import Recorder
from bucketcast.console.security import HOST, TOKEN, Guard
from bucketcast.errors import BucketcastError

ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/", flow.show),
    Route("/live/flow", flow.live),
    Route("/targets/{name}", target.show),
    Route("/events", events.show),
    Route("/live/events", events.live),
    Route("/events/{id}", events.show_event),
    Route("/live/events/{id}", events.live_event),
    Route("/dead-letters", dead_letters.show),
    Route("/live/dead-letters", dead_letters.live(dead_letters.list_groups)),
    Route("/dead-letters/letters", dead_letters.show_letters),
    Route("/live/dead-letters/letters", dead_letters.live(dead_letters.list_letters)),
    Route("/rules", rules.show),
    Route("/changes/{name}", changes.ask),
    Route("/changes/{name}", form(changes.do), methods=["POST"]),
    Route("/runs/{id}", changes.show_run),
    Route("/live/runs/{id}", changes.live_run),
    Route("/doctor", changes.show_doctor),
    Route("/topics", topics.show),
    Route("/topics/{name}", topics.show_topic),
    Route("/buckets", rules.show_buckets),
    Mount("/static", StaticFiles(directory=FOLDER / "static")),
)
_STOP_SECONDS: Final = 1
"""Live parts of pages never end by themselves."""


def create_app(context: Context, watch: flow.Watch, token: str, port: int) -> ASGIApp:
    """Return the console of a deployment, for who knows the token, at a port of this machine."""
    errors = (HTTPException, BucketcastError, click.UsageError)
    app = Starlette(routes=ROUTES, exception_handlers=dict.fromkeys(errors, error_page))
    app.state.context = context
    app.state.watch = watch
    app.state.recorder = Recorder(context)
    app.state.runs = dict[str, Answer]()
    app.state.readings = dead_letters.Readings()
    return Guard(app, token, port)


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
    watch = flow.Watch(context)
    if context.deployed.dynamic.local:
        Thread(target=watch.follow, daemon=True).start()
    configuration = uvicorn.Config(
        create_app(context, watch, token, listener.getsockname()[1]),
        ws="none",
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    uvicorn.Server(configuration).run(sockets=[listener])
