"""One event: its record, the rules' answers, and its way to each target."""

import time
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import context_of
from bucketcast.console.events import recorder_of
from bucketcast.console.pages import command, page, render
from bucketcast.console.recent import Entry
from bucketcast.console.recorder import Recorder
from bucketcast.destination import Destination
from bucketcast.diagnose.command import explain, trace

_SECONDS: Final = 1.0


async def show(request: Request) -> Response:
    recorder_of(request).look()
    return await run_in_threadpool(_show, request)


async def live(request: Request) -> Response:
    recorder, entry = recorder_of(request), _entry(request)
    recorder.look()
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("event_parts.html", **_way(recorder, entry)), _SECONDS
    )


def _show(request: Request) -> Response:
    context, entry = context_of(request), _entry(request)
    event = entry.event
    uri = f"s3://{event.bucket}/{event.key}"
    minutes = (time.time() - entry.at / 1_000) // 60 + 2
    explanation = explain.explain_deployed([event], context.deployed, context.aws)
    size = ["--size", str(event.size)] if event.size is not None else []
    figures = {
        "event": event.name,
        "time": event.time,
        "received here after": f"{entry.at - _happened(entry):,} ms",
        "id": event.id,
    }
    return page(
        request,
        "event.html",
        live=f"/live{request.url.path}",
        command=command(request, "trace", uri, "--since", f"{minutes:.0f}m"),
        uri=uri,
        figures=figures.items(),
        rule_columns=explain.COLUMNS,
        rules=explain.rows(explanation.answers, explanation.missing),
        messages=["\n".join(explain.lines(message)) for message in explanation.messages],
        record=msgspec.json.format(bytes(event.record), indent=2).decode(errors="replace"),
        explain=command(request, "explain", uri, "--event", event.name, *size),
        **_way(recorder_of(request), entry),
    )


def _entry(request: Request) -> Entry:
    entry = recorder_of(request).recent.find(request.path_params["id"])
    if entry is None:
        raise HTTPException(404, "This event is not known, or made room for newer ones.")
    return entry


def _happened(entry: Entry) -> int:
    """Return the event's own time in Unix ms."""
    try:
        return round(datetime.fromisoformat(entry.event.time).timestamp() * 1_000)
    except ValueError:  # a source may send 25 o'clock
        return entry.at


def _way(recorder: Recorder, entry: Entry) -> dict[str, Any]:
    """Return the table of an event's steps, with a link from its end to the dead letter."""
    steps = trace.ordered(recorder.recent.steps(entry))
    letters = [
        urlencode({"target": Destination.of(step.target).short, "id": entry.event.id})
        for step in steps
    ]
    return {
        "columns": trace.COLUMNS,
        "rows": trace.rows(steps),
        "last": [
            [("the dead letter", f"/dead-letters/letters?{letter}")] if step.kind == "dead" else ()
            for step, letter in zip(steps, letters, strict=True)
        ],
    }
