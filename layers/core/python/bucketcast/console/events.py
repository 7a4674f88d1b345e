"""Events as they happen, and what became of each."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import context_of
from bucketcast.console.pages import command, page, render
from bucketcast.console.recent import Row, Wanted
from bucketcast.console.recorder import Recorder
from bucketcast.destination import Destination
from bucketcast.event.names import expand
from bucketcast.terminal import params

MOST: Final = 100
_SECONDS: Final = 0.25
_FIELDS: Final = ("bucket", "prefix", "event", "target")
_HELD: Final = "held"


async def show(request: Request) -> Response:
    recorder_of(request).look()
    return await run_in_threadpool(_show, request)


async def live(request: Request) -> Response:
    recorder = recorder_of(request)
    recorder.look()
    wanted = _wanted(_asked(request))
    address = f"{request.url.path}?{request.url.query}"

    def read() -> str:
        return render("events_parts.html", **_parts(recorder, wanted))

    return context_of(request).feeds.stream(address, read, _SECONDS)


def recorder_of(request: Request) -> Recorder:
    recorder: Recorder = request.app.state.recorder
    return recorder


def _show(request: Request) -> Response:
    asked = _asked(request)
    wanted = _wanted(asked)
    query = urlencode({name: text for name, text in asked.items() if text})
    held = _HELD in request.query_params
    source = [f"s3://{wanted.bucket}"] if wanted.bucket else []
    prefix = ["--prefix", wanted.prefix] if wanted.prefix else []
    names = ["--event", asked["event"]] if asked["event"] else []
    return page(
        request,
        "events.html",
        live="" if held else f"/live/events?{query}",
        command=command(request, "listen", *source, *prefix, *names),
        asked=asked,
        other=f"/events?{query}" if held else f"/events?{urlencode({_HELD: 1})}&{query}",
        held=held,
        targets=[target.name for target in context_of(request).deployed.targets],
        **_parts(recorder_of(request), wanted),
    )


def _asked(request: Request) -> dict[str, str]:
    return {name: request.query_params.get(name, "").strip() for name in _FIELDS}


def _wanted(asked: Mapping[str, str]) -> Wanted:
    """Return the filter of an address.

    Raises:
        UsageError: a value is invalid.
    """
    names = params.events(asked["event"], listening=True) if asked["event"] else ()
    return Wanted(
        params.bucket_name(asked["bucket"]) if asked["bucket"] else "",
        asked["prefix"],
        frozenset(single for name in names for single in expand(name)),
        params.target_or_topic(asked["target"]).plain if asked["target"] else "",
    )


def _parts(recorder: Recorder, wanted: Wanted) -> dict[str, Any]:
    rows = recorder.recent.newest(wanted, MOST)
    return {
        "rows": [(row, _outcomes(row)) for row in rows],
        "since": recorder.since,
        "number": recorder.recent.number,
        "notes": list(recorder.notes.values()),
    }


def _outcomes(row: Row) -> list[tuple[str, str, str]]:
    """Return target, last step and its reason."""
    return [
        (Destination.of(arn).short, step.kind, step.reason if step.kind != "queued" else "")
        for arn, step in sorted(row.outcomes.items())
    ]
