"""Dead letters: by reason, as they would be sent, and back to their target or away."""

from collections.abc import Mapping
from pathlib import Path
from time import gmtime, strftime
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run
from bucketcast.console.changes import LETTERS, count_letters, reading
from bucketcast.console.forms import words_of
from bucketcast.console.pages import Link, command_line, page
from bucketcast.destination import Destination
from bucketcast.dlq.command import read
from bucketcast.dlq.summary import OTHER, Group

_MOST: Final = "20"


def show(request: Request) -> Response:
    asked = _asked(request)
    counted, groups = count_letters(request, asked)
    counted.last = [_actions(_choice(group)) if group.reason != OTHER else [] for group in groups]
    return page(
        request,
        "Dead letters",
        command=command_line(request, "dlq", "ls", *words_of(read.ls.params, asked)),
        filters=[("target", ()), ("reason", ())],
        links=_actions(asked) if groups else (),
        sections=[counted],
    )


def show_letters(request: Request) -> Response:
    asked = _asked(request)
    words = words_of(read.show.params, {**asked, "limit": _MOST})
    with reading:
        answer = run(request, read.show, "dlq show", *words)
    return page(
        request,
        f"Dead letters of {asked.get('target')}",
        back=("Dead letters", "/dead-letters"),
        links=_actions(asked)[1:],
        sections=[answer],
    )


def _asked(request: Request) -> dict[str, str]:
    return {name: text for name in LETTERS if (text := request.query_params.get(name, "").strip())}


def _choice(group: Group) -> dict[str, str]:
    """Return what chooses the letters of a group."""
    target = Destination.of(group.target).short
    values = {"reason": group.common, "error": group.error, "rule": group.rule}
    return {"target": target, **{name: text for name, text in values.items() if text}}


def _actions(asked: Mapping[str, str]) -> list[Link]:
    """Return what can be done with the letters of a target."""
    if "target" not in asked:
        return []
    at = strftime("%Y%m%dT%H%M%SZ", gmtime())
    file = Path.cwd() / f"dead-letters-{asked['target'].replace(':', '-')}-{at}.ndjson"
    query = urlencode(asked, errors="replace")
    return [
        ("show", f"/dead-letters/letters?{query}"),
        ("redrive …", f"/changes/redrive?{query}"),
        ("purge …", f"/changes/purge?{query}&{urlencode({'path': file})}"),
    ]
