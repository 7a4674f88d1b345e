"""Run commands for pages, with the words that a page shows, and keep what they print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import Context, Latest
from bucketcast.console.pages import see
from bucketcast.terminal.output import Output


@dataclass
class Answer(Output):
    """What a command prints; more of it while the command runs."""

    document: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    printed: list[str] = field(default_factory=list)

    def answer(self, document: Mapping[str, Any], *lines: str, exact: bool = False) -> None:  # noqa: ARG002
        self.document = document

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

    def line(self, line: str) -> None:
        self.printed.append(line)

    def note(self, note: str, *, always: bool = False) -> None:  # noqa: ARG002
        self.printed.append(note)


def new_answer(context: Context) -> Answer:
    """Return the answer of a command that has not run yet."""
    return Answer(json=True, aws=context.quiet.aws, stack=context.stack)


def run(out: Answer, command: click.Command, *words: str) -> Answer:
    """Run a command with these words, its own name first; return the answer.

    Raises:
        UsageError: a word is wrong.
        BucketcastError: it failed.
    """
    name, *arguments = words
    command.main(arguments, prog_name=f"bucketcast {name}", obj=out, standalone_mode=False)
    return out


def see_printed(request: Request, address: str, answer: Answer, **query: str) -> Response:
    """Answer a form with another page, which shows what the command printed."""
    if answer.printed:
        query["printed"] = _all(request).add(answer.printed)
    return see(f"{address}?{urlencode(query)}" if query else address)


def printed(request: Request) -> list[str]:
    """Return what the command printed that led to this page, while it is known."""
    try:
        return _all(request).find(request.query_params.get("printed", ""))
    except HTTPException:
        return []


def _all(request: Request) -> Latest[list[str]]:
    latest: Latest[list[str]] = request.app.state.printed
    return latest
