"""The paths of the console and their views."""

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
from bucketcast.console.context import Context, Latest
from bucketcast.console.pages import FOLDER, error_page, form
from bucketcast.console.recorder import Recorder
from bucketcast.console.security import Guard
from bucketcast.errors import BucketcastError

ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/", flow.show),
    Route("/live/flow", flow.live),
    Route("/targets/{name}", target.show),
    Route("/targets/{name}/pause", form(target.pause), methods=["POST"]),
    Route("/targets/{name}/resume", form(target.resume), methods=["POST"]),
    Route("/targets/{name}/tests", form(target.test), methods=["POST"]),
    Route("/targets/{name}/tests/{id}", target.show_test),
    Route("/live/targets/{name}/tests/{id}", target.live_test),
    Route("/events", events.show),
    Route("/live/events", events.live),
    Route("/events/{id}", event.show),
    Route("/live/events/{id}", event.live),
    Route("/dead-letters", dead_letters.show),
    Route("/dead-letters/letters", dead_letters.show_letters),
    Route("/dead-letters/redrive", dead_letters.ask_redrive),
    Route("/dead-letters/redrive", form(dead_letters.redrive), methods=["POST"]),
    Route("/dead-letters/purge", dead_letters.ask_purge),
    Route("/dead-letters/purge", form(dead_letters.purge), methods=["POST"]),
    Route("/dead-letters/runs/{id}", dead_letters.show_run),
    Route("/live/dead-letters/runs/{id}", dead_letters.live_run),
    Route("/rules", rules.show),
    Route("/rules/try", rules.try_key),
    Route("/changes/{name}", changes.ask),
    Route("/changes/{name}", form(changes.do), methods=["POST"]),
    Route("/topics", topics.show),
    Route("/topics/{name}", topics.show_topic),
    Route("/buckets", buckets.show),
    Route("/buckets/{name}", buckets.show_bucket),
    Route("/doctor", buckets.show_doctor),
    Route("/scans/{run}", buckets.show_report),
    Mount("/static", StaticFiles(directory=FOLDER / "static")),
)


def create_app(context: Context, token: str, port: int) -> ASGIApp:
    """Return the console of a deployment, for who knows the token, at a port of this machine."""
    errors = (HTTPException, BucketcastError, click.UsageError)
    app = Starlette(routes=ROUTES, exception_handlers=dict.fromkeys(errors, error_page))
    app.state.context = context
    app.state.watch = flow.Watch(context)
    app.state.tests = Latest[target.Test]()
    app.state.recorder = Recorder(context)
    app.state.printed = Latest[list[str]]()
    app.state.runs = Latest[dead_letters.Run]()
    return Guard(app, token, port)
