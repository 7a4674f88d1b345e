"""One event: its record, the rules' answers, and its way to each target."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import Context, context_of
from bucketcast.console.events import recorder_of
from bucketcast.console.pages import command, page, render
from bucketcast.console.recent import Entry
from bucketcast.destination import Destination
from bucketcast.diagnose.command.explain import explain_deployed, matched
from bucketcast.diagnose.command.trace import ordered, read
from bucketcast.diagnose.steps import Step
from bucketcast.event import Event
from bucketcast.terminal import params

_SECONDS: Final = 1.0
_FORGOTTEN_SECONDS: Final = 3_600


async def show(request: Request) -> Response:
    recorder_of(request).look()
    return await run_in_threadpool(_show, request)


async def live(request: Request) -> Response:
    recorder = recorder_of(request)
    recorder.look()
    entry = recorder.recent.find(request.path_params["id"])
    if entry is None:
        raise HTTPException(404)

    def read_steps() -> str:
        steps = ordered(recorder.recent.steps(entry))
        return render("event_parts.html", entry=entry, steps=_with_targets(steps))

    return context_of(request).feeds.stream(request.url.path, read_steps, _SECONDS)


def _show(request: Request) -> Response:
    recorder = recorder_of(request)
    entry = recorder.recent.find(request.path_params["id"])
    if entry is None:
        return _show_forgotten(request)
    event = entry.event
    uri = f"s3://{event.bucket}/{event.key}"
    minutes = (time.time() - entry.at / 1_000) // 60 + 2
    return page(
        request,
        "event.html",
        live=f"/live{request.url.path}",
        command=command(request, "trace", uri, "--since", f"{minutes:.0f}m"),
        uri=uri,
        entry=entry,
        delay=entry.at - _happened(entry),
        steps=_with_targets(ordered(recorder.recent.steps(entry))),
        **_explained(request, context_of(request), event),
    )


def _show_forgotten(request: Request) -> Response:
    """Show what the logs have of all events of the object."""
    uri = request.query_params.get("object", "")
    if not uri:
        raise HTTPException(404, "This event is not known, or made room for newer ones.")
    context = context_of(request)
    steps = read(*params.object_uri(uri), _FORGOTTEN_SECONDS, context.deployed, context.aws)
    return page(
        request,
        "event.html",
        command=command(request, "trace", uri, "--since", "1h"),
        uri=uri,
        entry=None,
        steps=_with_targets(steps),
    )


def _happened(entry: Entry) -> int:
    """Return the event's own time in Unix ms."""
    try:
        return round(datetime.fromisoformat(entry.event.time).timestamp() * 1_000)
    except ValueError:  # a source may send 25 o'clock
        return entry.at


def _with_targets(steps: Sequence[Step]) -> list[tuple[Step, str]]:
    return [(step, Destination.of(step.target).short) for step in steps]


def _explained(request: Request, context: Context, event: Event) -> dict[str, Any]:
    explanation = explain_deployed([event], context.deployed, context.aws)
    size = ["--size", str(event.size)] if event.size is not None else []
    uri = f"s3://{event.bucket}/{event.key}"
    return {
        "record": msgspec.json.format(bytes(event.record), indent=2).decode(errors="replace"),
        "answers": [
            (answer, answer.rule.to.short, matched(answer, explanation.missing))
            for answer in explanation.answers
        ],
        "messages": [
            (message, Destination.of(message.target).short, message.body.decode(errors="replace"))
            for message in explanation.messages
        ],
        "explain": command(request, "explain", uri, "--event", event.name, *size),
    }
