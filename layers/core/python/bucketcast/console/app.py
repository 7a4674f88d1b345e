"""The paths of the console and their views."""

from collections import OrderedDict
from typing import Final

import click
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bucketcast.console import (
    buckets,
    changes,
    dead_letters,
    event,
    events,
    flow,
    rules,
    target,
    topics,
)
from bucketcast.console.context import Context
from bucketcast.console.pages import FOLDER, error_page, form
from bucketcast.console.recorder import Recorder
from bucketcast.console.security import Guard
from bucketcast.errors import BucketcastError

ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/", flow.show),
    Route("/live/flow", flow.live),
    Route("/targets/{name}", target.show),
    Route("/events", events.show),
    Route("/live/events", events.live),
    Route("/events/{id}", event.show),
    Route("/live/events/{id}", event.live),
    Route("/dead-letters", dead_letters.show),
    Route("/dead-letters/letters", dead_letters.show_letters),
    Route("/rules", rules.show),
    Route("/rules/try", rules.try_key),
    Route("/changes/{name}", changes.ask),
    Route("/changes/{name}", form(changes.do), methods=["POST"]),
    Route("/runs/{id}", changes.show_run),
    Route("/live/runs/{id}", changes.live_run),
    Route("/topics", topics.show),
    Route("/topics/{name}", topics.show_topic),
    Route("/buckets", buckets.show),
    Route("/buckets/{name}", buckets.show_bucket),
    Route("/scans/{run}", buckets.show_report),
    Mount("/static", StaticFiles(directory=FOLDER / "static")),
)


def create_app(context: Context, token: str, port: int) -> ASGIApp:
    """Return the console of a deployment, for who knows the token, at a port of this machine."""
    errors = (HTTPException, BucketcastError, click.UsageError)
    app = Starlette(routes=ROUTES, exception_handlers=dict.fromkeys(errors, error_page))
    app.state.context = context
    app.state.watch = flow.Watch(context)
    app.state.recorder = Recorder(context)
    app.state.runs = OrderedDict[str, changes.Run]()
    return Guard(app, token, port)
