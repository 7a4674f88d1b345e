"""Pages from templates, their live parts, and the forms that they send."""

import asyncio
import math
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from bucketcast.console.context import context_of
from bucketcast.display import printable
from bucketcast.errors import BucketcastError
from bucketcast.terminal import usage
from bucketcast.terminal.times import moment

FOLDER: Final = Path(__file__).parent
NAV: Final = (
    ("/", "Flow"),
    ("/events", "Events"),
    ("/dead-letters", "Dead letters"),
    ("/rules", "Rules"),
    ("/topics", "Topics"),
    ("/buckets", "Buckets"),
    ("/doctor", "Doctor"),
)
_EMPTY: Final[dict[str, Any]] = {
    **dict.fromkeys(("live", "command", "state", "lead", "step"), ""),
    **dict.fromkeys(
        ("back", "filters", "figures", "links", "buttons", "plots", "periods", "sections"), ()
    ),
}
_LINES: Final = "\n\t"
_KEEP_ALIVE_SECONDS: Final = 15.0
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
FormView = Callable[[Request, Mapping[str, str]], Response]
Link = tuple[str, str]
"""A title and its address."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "printable": lambda text: printable(str(text), keep=_LINES),
        "time": _time,
        "cell": _cell,
        "label": usage.label_of,
        "log10": math.log10,
        "part": lambda text: quote(str(text), safe=":"),
    }
    environment.globals |= {"nav": NAV}
    return environment


def _time(ms: int) -> str:
    return _cell(moment(ms))


def _cell(text: str) -> str:
    """Return a cell of a command's table; the script adds the reader's zone to times."""
    if isinstance(text, Markup):
        return text
    shown = printable(str(text), keep=_LINES)
    return Markup("<time>{}</time>").format(shown) if _TIME.fullmatch(shown) else shown


def render(template: str, **values: Any) -> str:
    """Return a template's text, such as a fragment of a page."""
    return _environment().get_template(template).render(**values)


def page(
    request: Request, title: str, *, template: str = "page.html", status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page with the parts of `_EMPTY` that it has.

    `back`, `links` and `buttons` lead on; `filters` are fields and their known values; `sections`
    are `Answer`s; `live` is the address of a feed; `lead` is a text below the title. `plots` have
    a point every `step`; `periods` are titles and addresses of those of other times, and whether it
    is this one. `command` does the same as the page, that of its first section unless given.
    """
    shared = {"title": title, "request": request, "stack": context_of(request).stack}
    return HTMLResponse(render(template, **(_EMPTY | shared | values)), status)


def stream(read: Callable[[], str], seconds: float) -> StreamingResponse:
    """Return the response to an `EventSource`; `read` is called in a thread every `seconds`.

    A browser gets the newest fragment when it is ready for one, so a slow one skips some, and
    nothing piles up.
    """
    return StreamingResponse(fragments(read, seconds), media_type="text/event-stream")


async def fragments(read: Callable[[], str], seconds: float) -> AsyncIterator[str]:
    """Yield the fragment now and whenever it has changed, a comment if it has not for a while."""
    shown, sent = "", time.monotonic()
    while True:
        try:
            fragment = await run_in_threadpool(read)
        except BucketcastError as error:  # the rest of the page shows what was read last
            fragment = f'<p class="live" id="live" role="status">{escape(str(error))}</p>'
        if fragment != shown or time.monotonic() - sent >= _KEEP_ALIVE_SECONDS:
            lines = [f"data: {line}\n" for line in fragment.splitlines()]
            yield "".join(lines if fragment != shown else ":\n") + "\n"
            shown, sent = fragment, time.monotonic()
        await asyncio.sleep(seconds)


def command_line(request: Request, *words: str) -> str:
    """Return a line for a shell that does the same as the page."""
    stack = context_of(request).stack
    more = () if stack == "Bucketcast" else ("--stack", stack)
    return shlex.join(("bucketcast", *words, *more))


def form(view: FormView) -> Callable[[Request], Any]:
    """Return the endpoint of a form's view, which gets the last value of each field."""

    async def endpoint(request: Request) -> Response:
        text = (await request.body()).decode(errors="replace")
        fields = dict(parse_qsl(text, keep_blank_values=True))
        return await run_in_threadpool(view, request, fields)

    return endpoint
