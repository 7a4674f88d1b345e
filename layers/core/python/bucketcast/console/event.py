"""One event: its record, the rules' answers, and its way to each target."""

import time
from datetime import datetime
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import Context, context_of
from bucketcast.console.events import hearing_of
from bucketcast.console.pages import command, page, render
from bucketcast.console.recent import Heard
from bucketcast.destination import Destination
from bucketcast.diagnose.command.explain import explain_deployed, matched
from bucketcast.diagnose.command.trace import read
from bucketcast.event import Event
from bucketcast.terminal import params

_SECONDS: Final = 2.0
_MARGIN_SECONDS: Final = 60
_FORGOTTEN_SECONDS: Final = 3_600


async def show(request: Request) -> Response:
    hearing_of(request).look()
    return await run_in_threadpool(_show, request)


async def live(request: Request) -> Response:
    hearing_of(request).look()
    bucket, key, heard = _found(request)
    context, address = context_of(request), f"{request.url.path}?{request.url.query}"

    def read_steps() -> str:
        return render("event_parts.html", heard=heard, **_steps(context, bucket, key, heard))

    return context.feeds.stream(address, read_steps, _SECONDS)


def _show(request: Request) -> Response:
    bucket, key, heard = _found(request)
    context = context_of(request)
    uri = f"s3://{bucket}/{key}"
    return page(
        request,
        "event.html",
        live=f"/live{request.url.path}?{request.url.query}",
        command=command(request, "trace", uri, "--since", f"{_since(heard) // 60 + 1}m"),
        uri=uri,
        heard=heard,
        delay=heard.at - _happened(heard) if heard else 0,
        **(_explained(request, context, heard.event) if heard else {}),
        **_steps(context, bucket, key, heard),
    )


def _found(request: Request) -> tuple[str, str, Heard | None]:
    """Return bucket and key of an address, and its event unless that is forgotten."""
    heard = hearing_of(request).recent.find(request.path_params["id"])
    if heard:
        return heard.event.bucket, heard.event.key, heard
    uri = request.query_params.get("object", "")
    if not uri:
        raise HTTPException(404, "This event was not heard, or made room for newer ones.")
    return *params.object_uri(uri), None


def _since(heard: Heard | None) -> int:
    """Return how many seconds back to read the logs."""
    if heard is None:
        return _FORGOTTEN_SECONDS
    began = min(heard.at, _happened(heard)) / 1_000
    return max(0, round(time.time() - began)) + _MARGIN_SECONDS


def _happened(heard: Heard) -> int:
    """Return the event's own time in Unix ms."""
    try:
        return round(datetime.fromisoformat(heard.event.time).timestamp() * 1_000)
    except ValueError:  # a source may send 25 o'clock
        return heard.at


def _steps(context: Context, bucket: str, key: str, heard: Heard | None) -> dict[str, Any]:
    steps = read(bucket, key, _since(heard), context.deployed, context.aws)
    shown = [step for step in steps if heard is None or step.event == heard.trace]
    return {"steps": [(step, Destination.of(step.target).short) for step in shown]}


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
