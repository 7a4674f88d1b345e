"""Pages from templates, and the forms that they send."""

import math
import re
import shlex
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bucketcast.aws.clients import AwsError
from bucketcast.console.context import context_of
from bucketcast.display import printable, size
from bucketcast.errors import NoAnswer
from bucketcast.terminal.times import age, clock

FOLDER: Final = Path(__file__).parent
FORM_BYTES: Final = 65_536
NAV: Final = (
    ("/", "Flow"),
    ("/events", "Events"),
    ("/dead-letters", "Dead letters"),
    ("/rules", "Rules"),
    ("/topics", "Topics"),
    ("/buckets", "Buckets"),
)
_LINES: Final = "\n\t"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
View = Callable[[Request], Response]


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
        "size": size,
        "time": _time,
        "ago": _ago,
        "cell": _cell,
        "log10": math.log10,
        "part": lambda text: quote(str(text), safe=":"),
    }
    environment.globals |= {"nav": NAV}
    return environment


def _time(ms: int) -> str:
    """Return a time in UTC; the script adds the reader's own."""
    return Markup('<time datetime="{}">{}</time>').format(clock(ms), clock(ms)) if ms else "-"


def _cell(text: str) -> str:
    """Return a cell of a command's table; the script adds the reader's zone to times."""
    shown = printable(text, keep=_LINES)
    return Markup("<time>{}</time>").format(shown) if _TIME.fullmatch(text) else shown


def _ago(ms: int) -> str:
    """Return the age of a time, which the script keeps up to date."""
    if not ms:
        return "-"
    text = age(ms, round(time.time() * 1_000))
    return Markup('<time class="ago" datetime="{}" title="{}">{} ago</time>').format(
        clock(ms), clock(ms), text
    )


def render(template: str, **values: Any) -> str:
    """Return a template's text, such as a fragment of a page."""
    return _environment().get_template(template).render(**values)


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page; `live` is the address of its feed, `command` shows the same as the page."""
    shared: dict[str, Any] = {
        "path": request.url.path,
        "stack": context_of(request).stack,
        "live": "",
        "command": "",
    }
    return HTMLResponse(render(template, **(shared | values)), status)


def command(request: Request, *words: str) -> str:
    """Return a line for a shell that does the same as the page."""
    stack = context_of(request).stack
    more = () if stack == "Bucketcast" else ("--stack", stack)
    return shlex.join(("bucketcast", *words, *more))


def see(address: str) -> Response:
    """Answer a form with another page, which may be loaded again."""
    return RedirectResponse(address, 303)


def form(view: View) -> Callable[[Request], Any]:
    """Return the endpoint of a form's view, which finds the form with `fields`."""

    async def endpoint(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > FORM_BYTES:
                raise HTTPException(413, f"A form may have {FORM_BYTES:,} bytes.")
        text = body.decode(errors="replace")
        request.state.fields = parse_qs(text, keep_blank_values=True)
        return await run_in_threadpool(view, request)

    return endpoint


def fields(request: Request) -> Mapping[str, str]:
    """Return the fields of the form that was sent, the last value of each."""
    return {name: values[-1] for name, values in request.state.fields.items()}


def error_page(request: Request, error: Exception) -> Response:
    """Return the page of an error, in the words of the command."""
    if isinstance(error, HTTPException):
        return page(request, "error.html", status=error.status_code, error=error.detail)
    if isinstance(error, click.UsageError):
        return page(request, "error.html", status=400, error=error.format_message())
    status = 502 if isinstance(error, (AwsError, NoAnswer)) else 400
    return page(request, "error.html", status=status, error=str(error))
