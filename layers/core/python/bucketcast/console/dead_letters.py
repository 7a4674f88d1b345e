"""Dead letters by group, one by one, and as they would be sent.

They are read beside a page, which does not wait for SQS.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from time import gmtime, strftime
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, one_page, stream
from bucketcast.console.context import Context, Shared, context_of
from bucketcast.console.forms import words_of
from bucketcast.console.pages import Link, command_line, page
from bucketcast.dlq.command import read
from bucketcast.dlq.command.options import Chosen, chosen, to_filter
from bucketcast.dlq.command.queue import select_queues
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.summary import Summary, group_name

LETTERS: Final = ("target", "reason", "ids")
"""The fields that choose dead letters; several ids are lines."""
_SECONDS: Final = 10.0
"""How long what was read is shown again."""
_LIVE_SECONDS: Final = 0.5
_KEPT: Final = 50
List = Callable[[Context, Chosen, Filter], Answer]
Readings = dict[tuple[List, str], Shared[Answer]]
reading: Final = Lock()
"""A reader of dead letters hides them: two at once would each miss some."""


def show(request: Request) -> Response:
    values = asked(request.query_params)
    return page(
        request,
        "Dead letters",
        live=f"/live{request.url.path}?{request.url.query}",
        command=command_line(request, "dlq", "ls", *words_of(read.ls.params, values)),
        filters=[("target", ()), ("reason", ())],
        links=actions(values)[1:],
        sections=[begin(request, values, list_groups)],
    )


def show_letters(request: Request) -> Response:
    values = asked(request.query_params)
    return page(
        request,
        f"Dead letters of {values.get('target')}",
        live=f"/live{request.url.path}?{request.url.query}",
        command=command_line(request, "dlq", "show", *words_of(read.show.params, values)),
        back=("Dead letters", "/dead-letters"),
        links=actions(values)[1:],
        sections=[begin(request, values, list_letters)],
    )


def asked(values: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that choose dead letters."""
    return {name: text for name in LETTERS if (text := values.get(name, "").strip())}


def begin(request: Request, values: Mapping[str, str], list_: List) -> Answer:
    """Begin to read what a page asks for, unless it was just read; return what is known.

    Raises:
        BadParameter: there can be no such letters.
        BucketcastError: they could not be read.
    """
    shared = _shared(request, values, list_)
    shared.begin()
    return _part(request, shared)


def live(list_: List) -> Callable[[Request], Response]:
    """Return the feed of what a page has begun to read."""

    def feed(request: Request) -> Response:
        shared = _shared(request, request.query_params, list_)
        shared.begin()
        return stream(lambda: _part(request, shared), _LIVE_SECONDS)

    return feed


def list_groups(context: Context, target: Chosen, wanted: Filter) -> Answer:
    """Count the letters that can be read in a second, by group."""
    answer, summary = Answer(context=context, json=True), Summary()
    with reading, ExitStack() as readers:
        selections, answer.printed = select_queues(answer, target.queue or None)
        answer.printed += read.count(answer, readers, selections, wanted, summary, read.SECONDS)
    groups = list(summary.groups())
    answer.table({}, read.COLUMNS, read.rows(groups), "no dead letters found")
    answer.last = [actions({"target": group.name}) if group.id else [] for group in groups]
    return answer


def list_letters(context: Context, target: Chosen, wanted: Filter) -> Answer:
    """List the letters of a target that can be read in a second, or show the one of an id."""
    answer, name = Answer(context=context, json=True), group_name(*target)
    with reading:
        if wanted.ids:
            ids = [f"--id={id_}" for id_ in wanted.ids]
            answer.run(read.show, [*ids, f"--reason={wanted.reason}", name])
            return answer
        rows, answer.printed = read.letter_rows(answer, target.queue, wanted)
    answer.table({}, read.LETTER_COLUMNS, rows, "no dead letters found")
    answer.last = [actions({"target": name, "ids": id_}) for id_, *_ in rows]
    answer.picked = {"target": name, "path": _file(name)} if rows else {}
    return answer


def actions(chosen: Mapping[str, str]) -> list[Link]:
    """Return what can be done with the letters of a target."""
    if "target" not in chosen:
        return []
    query = urlencode(chosen, errors="replace")
    return [
        ("show", f"/dead-letters/letters?{query}"),
        ("redrive …", f"/changes/redrive?{query}"),
        ("purge …", f"/changes/purge?{query}&{urlencode({'path': _file(chosen['target'])})}"),
    ]


def _file(target: str) -> str:
    """Return the file that a purge writes unless another is chosen."""
    at, name = strftime("%Y%m%dT%H%M%SZ", gmtime()), re.sub("[:/]", "-", target)
    return str(Path.cwd() / f"dead-letters-{name}-{at}.ndjson")


def _shared(request: Request, values: Mapping[str, str], list_: List) -> Shared[Answer]:
    given: dict[str, Any] = asked(values)
    target = chosen(given.pop("target", ""))
    given["ids"] = tuple(given.get("ids", "").split())
    wanted = to_filter(target, given)
    readings: Readings = request.app.state.readings
    if len(readings) >= _KEPT:
        readings.clear()
    read_list = partial(list_, context_of(request), target, wanted)
    return readings.setdefault((list_, str((target, wanted))), Shared(read_list, _SECONDS))


def _part(request: Request, shared: Shared[Answer]) -> Answer:
    """Return a page of the rows that were read last, or that they are being read."""
    newest = shared.newest
    if newest is None or not newest.done():
        return Answer(context=context_of(request), id="letters", runs=True)
    return replace(one_page(request, newest.result()), id="letters")
