"""What the commands share: `--json`, `--stack`, and how answers look.

A table is drawn on a terminal, and is plain text in columns where it is piped. Keys and reasons are
what others chose: people see them escaped (`printable`), and `--json` has them as they are.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from bucketcast.errors import ConfigErrors
from bucketcast.printable import printable
from bucketcast.store.access import Aws

_LINES = "\n\t"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Screen:
    """Where a command's answer goes, and which deployment it is about; `aws` leads there."""

    json: bool = False
    aws: Callable[..., Aws] = Aws
    stack: str = field(default_factory=lambda: os.environ.get("BUCKETCAST_STACK") or "Bucketcast")

    def answer(self, document: Mapping[str, Any], *lines: str, exact: bool = False) -> None:
        """A finished command: the document for programs, the lines for people.

        With `exact` the lines are a file or commands: they are as they are, but on a terminal.
        """
        if self.json:
            _write({"status": "success", **document})
            return
        for line in lines:
            if exact and not is_terminal():
                click.echo(line)
            else:
                self.line(line)

    def line(self, text: str) -> None:
        """A line for people, and one only."""
        click.echo(printable(text))

    def table(
        self,
        document: Mapping[str, Any],
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        nothing: str,
    ) -> None:
        """As `answer`, with a table for people; `nothing` is said when it has no row."""
        if self.json or not rows:
            self.answer(document)
            if not rows:
                self.note(nothing)
        else:
            shown = [[printable(cell) for cell in row] for row in rows]
            if is_terminal():
                _draw(columns, shown)
            else:
                click.echo(plain(columns, shown))

    def note(self, text: str) -> None:
        """Something that the reader should know; the command goes on."""
        click.echo(printable(text), err=True)

    def failed(self, text: str, cure: str = "") -> None:
        """The command ends with this."""
        if self.json:
            _write({"status": "error", "error": text})
            return
        # What went wrong elsewhere comes with lines of its own, such as the end of a log.
        click.echo(f"bucketcast: {printable(text, keep=_LINES)}", err=True)
        if cure:
            click.echo(cure, err=True)

    def misconfigured(self, errors: ConfigErrors) -> None:
        """All mistakes of a configuration, one a line."""
        if self.json:
            mistakes = [
                {"key": each.key, "found": each.found, "allowed": each.allowed}
                for each in errors.errors
            ]
            _write({"status": "error", "error": str(errors), "mistakes": mistakes})
            return
        click.echo(printable(str(errors), keep=_LINES), err=True)


def shared(command: F) -> F:
    """Give a command `--stack` and `--json`; both may also stand before its name."""
    stack = click.option(
        "--stack",
        metavar="NAME",
        expose_value=False,
        callback=_remember_stack,
        help="The stack of the deployment, by default BUCKETCAST_STACK or Bucketcast.",
    )
    as_json = click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_remember_json,
        help="Answer with one JSON document.",
    )
    return stack(as_json(command))


def _remember_stack(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Screen).stack = value


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        context.ensure_object(Screen).json = True


def is_terminal() -> bool:
    """Whether a person reads the answer."""
    return sys.stdout.isatty()


def plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under their headings, columns aligned by blanks."""
    lines = [columns, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=place == 0)  # to be copied whole
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def _write(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
