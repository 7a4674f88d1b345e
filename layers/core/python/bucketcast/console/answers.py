"""Parts of pages: what commands print, with the words that a page shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.console import pages
from bucketcast.console.context import Context, context_of
from bucketcast.console.pages import Link, command_line, page, render
from bucketcast.deployment import Deployed
from bucketcast.errors import NoAnswer
from bucketcast.terminal import usage
from bucketcast.terminal.output import Output, counted

ROWS: Final = 50
"""Of a table on one page."""
SEARCH: Final = ("prefix", "search")
"""The fields that `search` reads."""


@dataclass(kw_only=True)
class Answer(Output):
    """What a command has printed: notes, then a table, lines, and the `problem`.

    `folded` are titles and texts, to be opened. `last` are links by row, `more` those to other
    rows. With fields for those that are `picked`, rows have check boxes, by their first cells. A
    live part has an `id`; it `runs` until the command has ended, with the page to go `back` to.
    """

    context: Context
    command: str = ""
    heading: str = ""
    id: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    last: Sequence[Sequence[Link]] = ()
    picked: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[Link] = ()
    printed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    folded: Sequence[tuple[str, str]] = ()
    problem: str = ""
    runs: bool = False
    back: str = ""

    def __post_init__(self) -> None:
        self.aws, self.stack = self.context.clients, self.context.stack

    def run(self, command: click.Command, words: Sequence[str]) -> None:
        """Run a command to its end.

        Raises:
            UsageError: a word is wrong.
            BucketcastError: it failed.
        """
        command.main(list(words), prog_name="bucketcast", obj=self, standalone_mode=False)

    def deployed(self, **arguments: Any) -> tuple[Deployed, Aws]:
        return self.context.deployed, self.aws(**arguments)

    def answer(self, document: Mapping[str, Any], *lines: str, exact: bool = False) -> None:  # noqa: ARG002
        self.document = document
        self.lines += lines

    def line(self, line: str) -> None:
        self.lines.append(line)

    def table(
        self,
        document: Mapping[str, Any],
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        nothing: str,
    ) -> None:
        self.document, self.columns, self.rows = document, columns, rows
        if not rows:
            self.note(nothing)

    def note(self, note: str, *, always: bool = False) -> None:  # noqa: ARG002
        self.printed.append(note)

    def fail(self, error: str, code: str = "failed", *, hint: str = "", **more: object) -> None:  # noqa: ARG002
        self.problem = error


def run(
    request: Request, command: click.Command, name: str, *words: str, heading: str = ""
) -> Answer:
    """Run a command of this name; return what it prints.

    Raises:
        UsageError: a word is wrong.
        BucketcastError: it failed.
    """
    line = command_line(request, *name.split(), *words)
    answer = Answer(context=context_of(request), json=True, command=line, heading=heading)
    answer.run(command, words)
    return answer


def search(request: Request, found: Answer, noun: str, names: Sequence[Sequence[str]]) -> Answer:
    """Return a page of the rows that have the text searched for, and say how many there are.

    With a prefix in the address, one of the `names` of a row begins with it.
    """
    prefix, text = (request.query_params.get(name, "").strip() for name in SEARCH)
    chosen = [
        index
        for index, cells in enumerate(found.rows)
        if text.casefold() in " ".join(cells).casefold()
        and any(name.startswith(prefix) for name in names[index])
    ]
    total = counted(len(found.rows), noun)
    if found.rows:
        found.note(total if len(chosen) == len(found.rows) else f"{len(chosen):,} of {total}")
    found.rows = [found.rows[index] for index in chosen]
    found.last = [found.last[index] for index in chosen] if found.last else ()
    return one_page(request, found)


def one_page(request: Request, whole: Answer) -> Answer:
    """Return the rows of the page that the address names, with links to those beside it."""
    query = dict(request.query_params)
    number = max(1, int(text)) if (text := query.get("page", "")).isdecimal() else 1
    start, end = (number - 1) * ROWS, number * ROWS
    pages = []
    if start > 0:
        pages.append((f"the {ROWS} before", number - 1))
    if end < len(whole.rows):
        pages.append((f"the {ROWS} after", number + 1))
    path = request.url.path.removeprefix("/live")
    return replace(
        whole,
        rows=whole.rows[start:end],
        last=whole.last[start:end],
        more=[(title, f"{path}?{urlencode(query | {'page': to})}") for title, to in pages],
    )


def stream(read: Callable[[], Answer], seconds: float) -> Response:
    """Return the feed of a live part."""
    return pages.stream(lambda: render("section.html", section=read()), seconds)


def error_page(request: Request, error: Exception) -> Response:
    """Return the page of an error, in the words of the command."""
    text, status = str(error), 400
    if isinstance(error, HTTPException):
        status = error.status_code
        text = "There is no such page." if error.detail == "Not Found" else error.detail
    elif isinstance(error, click.UsageError):
        text = usage.text_of(error)
    elif isinstance(error, (AwsError, NoAnswer)):
        status = 502
    problem = Answer(context=context_of(request), problem=text)
    return page(request, "A problem", status=status, back=("Flow", "/"), sections=[problem])
