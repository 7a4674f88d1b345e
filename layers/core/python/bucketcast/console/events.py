"""Events as they happen, and of one: its record, the rules' answers, its way to each target."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, one_page, stream
from bucketcast.console.context import context_of
from bucketcast.console.pages import Link, command_line, page
from bucketcast.console.recent import Entry, Row, Wanted
from bucketcast.console.recorder import Recorder
from bucketcast.destination import short_name
from bucketcast.diagnose.command import explain, trace
from bucketcast.diagnose.explain import Message
from bucketcast.display import printable, size
from bucketcast.event import Event
from bucketcast.event.names import creates, expand
from bucketcast.terminal import params
from bucketcast.terminal.output import counted
from bucketcast.terminal.times import clock

MOST: Final = 100
_SECONDS: Final = 0.25
_WAY_SECONDS: Final = 1.0
_WORDS: Final = ("put", "delete", "get", "s3:ObjectCreated:*", "s3:ObjectRemoved:*")
_FIELDS: Final = ("bucket", "prefix", "event", "target", "search")
_KINDS: Final = ("dead", "retried", "dropped", "queued", "delivered")
_HELD: Final = "held"


async def show(request: Request) -> Response:
    _recorder(request).look()
    return await run_in_threadpool(_show, request)


async def live(request: Request) -> Response:
    _recorder(request).look()
    wanted = _wanted(_asked(request))
    return stream(lambda: _list(request, wanted), _SECONDS)


async def show_event(request: Request) -> Response:
    _recorder(request).look()
    return await run_in_threadpool(_show_event, request)


async def live_event(request: Request) -> Response:
    _recorder(request).look()
    entry = _entry(request)
    return stream(lambda: _way(request, entry), _WAY_SECONDS)


def _recorder(request: Request) -> Recorder:
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
    targets = [target.name for target in context_of(request).deployed.targets]
    hold = ("Hold the list", f"/events?{_HELD}=1&{query}")
    follow = ("Show new events as they come", f"/events?{query}")
    return page(
        request,
        "Events",
        live="" if held else f"/live/events?{query}",
        command=command_line(request, "listen", *source, *prefix, *names),
        filters=[(name, {"event": _WORDS, "target": targets}.get(name, ())) for name in _FIELDS],
        links=[follow if held else hold],
        sections=[_list(request, wanted)],
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
        asked["search"],
    )


def _list(request: Request, wanted: Wanted) -> Answer:
    """Return the table of the newest events, with what became of each."""
    recorder = _recorder(request)
    answer = Answer(context=context_of(request), id="events", printed=[*recorder.notes.values()])
    rows = [_cells(row) for row in recorder.recent.newest(wanted, MOST)]
    answer.table({}, ("TIME", "EVENT", "OBJECT", "SIZE", "TARGETS"), rows, "none yet")
    if recorder.since:
        number = counted(recorder.recent.number, "event")
        about = Markup(
            "{} since <time>{}</time>. Earlier ones cannot be shown: the logs hold no key and no "
            "record. What became of an event follows within seconds, from the logs."
        )
        answer.note(about.format(number, clock(recorder.since)))
    else:
        answer.note("Starting to listen …")
    return answer


def _cells(row: Row) -> tuple[str, ...]:
    event = row.entry.event
    path = f"{event.bucket}/{event.key}" if event.key else event.bucket
    link = Markup('<a href="/events/{}">{}</a>').format(event.id, printable(path))
    nothing = "no rule matches" if row.read else "…"
    taken = "-" if event.size is None else size(event.size)
    return event.time, event.name, link, taken, _outcomes(row) or nothing


def _outcomes(row: Row) -> Markup:
    """Return one line: which targets did not get it, then which did; of several, how many."""
    shown = Markup()
    part = Markup('<span class="step {}" title="{}">{} {}</span> ')
    for kind in _KINDS:
        named = {
            short_name(arn): printable(step.reason)
            for arn, step in sorted(row.outcomes.items())
            if step.kind == kind
        }
        what = next(iter(named)) if len(named) == 1 else counted(len(named), "target")
        about = [": ".join(filter(None, each)) for each in named.items()]
        shown += part.format(kind, "; ".join(about), what, kind) if named else ""
    return shown


def _show_event(request: Request) -> Response:
    context, entry = context_of(request), _entry(request)
    event = entry.event
    uri = f"s3://{event.bucket}/{event.key}"
    minutes = (time.time() - entry.at / 1_000) // 60 + 2
    length = ["--size", str(event.size)] if event.size is not None else []
    explained = Answer(context=context, heading="Rules, and what is sent by the settings of now")
    explained.note(command_line(request, "explain", uri, "--event", event.name, *length))
    explanation = explain.explain_deployed([event], context.deployed, context.aws)
    explain.show(explained, event, explanation)
    explained.rows = sorted(explained.rows, key=lambda cells: cells[2] == "no")
    explained.folded = [*_messages(explanation.messages)]
    return page(
        request,
        uri,
        back=("Events", "/events"),
        live=f"/live{request.url.path}",
        command=command_line(request, "trace", uri, "--since", f"{minutes:.0f}m"),
        links=_links(event, uri),
        figures=[
            ("event", event.name),
            ("time", event.time),
            ("received here after", f"{entry.at - _happened(entry):,} ms"),
            ("id", event.id),
        ],
        sections=[
            _way(request, entry),
            one_page(request, explained),
            Answer(context=context, folded=[("Record", _formatted(bytes(event.record)))]),
        ],
    )


def _links(event: Event, uri: str) -> list[Link]:
    """Return the form that sends an object again, if a field of a form can hold its key."""
    if not creates(event.name) or not uri.isprintable():
        return []
    again = urlencode({"uri": uri, "version": event.version_id or ""})
    return [("Send its upload again …", f"/changes/send?{again}")]


def _messages(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Yield a title and a text for each body, with all headers that it is sent with."""
    by_body: dict[str, list[Message]] = {}
    for message in messages:
        by_body.setdefault(_formatted(message.body), []).append(message)
    for body, same in by_body.items():
        names = ", ".join(short_name(message.target) for message in same)
        headers = [f"{name}: {value}" for each in same for name, value in each.headers.items()]
        yield f"What is sent to {names}", "\n".join([*dict.fromkeys(headers), "", body])


def _formatted(text: bytes) -> str:
    """Return JSON with its lines indented, other text as it is."""
    with suppress(msgspec.DecodeError):
        text = msgspec.json.format(text, indent=2)
    return text.decode(errors="replace")


def _entry(request: Request) -> Entry:
    entry = _recorder(request).recent.find(request.path_params["id"])
    if entry is None:
        raise HTTPException(404, "This event is not known, or made room for newer ones.")
    return entry


def _happened(entry: Entry) -> int:
    """Return the event's own time in Unix ms."""
    try:
        return round(datetime.fromisoformat(entry.event.time).timestamp() * 1_000)
    except ValueError:  # a source may send 25 o'clock
        return entry.at


def _way(request: Request, entry: Entry) -> Answer:
    """Return the table of an event's steps, with a link from its end to the dead letter."""
    answer = Answer(context=context_of(request), id="steps", heading="Its way")
    steps = trace.ordered(_recorder(request).recent.steps(entry))
    nothing = "nothing in the logs yet: they take some seconds"
    # All steps are of one event: its time is on the page.
    columns = (*trace.COLUMNS[:2], *trace.COLUMNS[3:])
    rows = [(*row[:2], *row[3:]) for row in trace.rows(steps)]
    answer.table({}, columns, rows, nothing)
    for step in steps:
        letter = {"target": short_name(step.target), "ids": entry.event.id}
        link = ("the dead letter", f"/dead-letters/letters?{urlencode(letter)}")
        answer.last = [*answer.last, [link] if step.kind == "dead" else []]
    return answer
