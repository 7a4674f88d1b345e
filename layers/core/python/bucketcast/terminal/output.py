"""Output of the commands: `--json`, `--stack`, tables, notes and errors.

A table is the same on a terminal, where states have a colour, and in a pipe. Keys and
reasons come from outside: they are escaped for people (`display.printable`) and left as they are in
`--json`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.display import printable
from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from bucketcast.deployment import Deployed

_LINES = "\n\t"
_WIDEST = 48
_STATES = ("STATE", "STATUS", "RESULT")
"""The columns whose words may have a colour."""
_COLOURS = {
    **dict.fromkeys(("online", "ok", "delivered"), "green"),
    **dict.fromkeys(("paused", "off", "probing", "warn", "retried"), "yellow"),
    **dict.fromkeys(("failing", "offline", "absent", "error", "dead", "dropped"), "red"),
}
F = TypeVar("F", bound=Callable[..., Any])
Report = Callable[[str, int, int, str], None]
"""Takes the stage, how many are done of how many in all (0 if unknown), and what they are."""
_LINE_SECONDS = 5.0


@dataclass
class Output:
    """Output format and deployment of a command; `aws` makes the clients."""

    json: bool = False
    aws: Callable[..., Aws] = Aws
    stack: str = field(default_factory=lambda: os.environ.get("BUCKETCAST_STACK") or "Bucketcast")

    def deployed(self, **arguments: Any) -> "tuple[Deployed, Aws]":
        """Return the deployment and its clients, made with these arguments.

        Raises:
            NoAnswer: the stack does not exist, or is not Bucketcast's.
            AwsError: AWS cannot be reached.
        """
        from bucketcast.deployment import find  # noqa: PLC0415 - takes long to import

        aws = self.aws(**arguments)
        return find(self.stack, aws), aws

    def answer(self, document: Mapping[str, Any], *lines: str, exact: bool = False) -> None:
        """Print the result: the document with `--json`, else the lines.

        With `exact` the lines are a file or commands and are not escaped unless on a terminal.
        """
        if self.json:
            _write({"status": "success", **document})
            return
        for line in lines:
            if exact and not is_terminal():
                click.echo(line)
            else:
                self.line(line)

    def line(self, line: str) -> None:
        """Print one line."""
        click.echo(printable(line))

    def table(
        self,
        document: Mapping[str, Any],
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        nothing: str,
    ) -> None:
        """Print a table, or the document with `--json`; `nothing` is the note for no rows."""
        if self.json or not rows:
            self.answer(document)
            if not rows:
                self.note(nothing, always=True)
        else:
            shown = [[printable(cell) for cell in row] for row in rows]
            click.echo(plain(columns, shown))

    def note(self, note: str, *, always: bool = False) -> None:
        """Print a note to standard error; with `--json` only if it is to be shown `always`."""
        if always or not self.json:
            click.echo(printable(note), err=True)

    def notes(self, notes: Iterable[str]) -> None:
        """Print notes that a `--json` document has as its `notes`."""
        for note in notes:
            self.note(f"note: {note}")

    def confirm(self, question: str, *details: str) -> None:
        """Ask before a change that `--yes` would confirm.

        Raises:
            BucketcastError: the answer is not yes.
            UsageError: there is nobody to ask.
        """
        if self.json or not sys.stdin.isatty():
            raise click.UsageError(f"{question} This cannot be asked here: add --yes")
        for line in details:
            self.note(line)
        if not click.confirm(question, err=True):
            raise BucketcastError("nothing was changed")

    def fail(self, error: str, code: str = "failed", *, hint: str = "", **more: object) -> None:
        """Print the error that ends the command, and a hint; `more` are fields of the document."""
        if self.json:
            _write({"status": "error", "code": code, "error": error, **more})
            return
        # Errors from elsewhere have several lines, such as the end of a log.
        click.echo(f"bucketcast: {printable(error, keep=_LINES)}", err=True)
        if hint:
            click.echo(hint, err=True)


def output_options(command: F) -> F:
    """Add `--stack` and `--json` to a command; both may also precede the command's name."""
    stack = click.option(
        "--stack",
        metavar="NAME",
        expose_value=False,
        callback=_remember_stack,
        help="Name of the deployment's stack. [default: $BUCKETCAST_STACK or Bucketcast]",
    )
    as_json = click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_remember_json,
        help="Print one JSON document.",
    )
    return stack(as_json(command))


def yes_option(help_text: str) -> Callable[[F], F]:
    """Add `--yes`, without which the command asks; the text says for what."""
    return click.option("--yes", is_flag=True, help=help_text)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Pass the `Output` to a command, and add `--stack` and `--json`.

    What botocore raises in it becomes an `AwsError`.
    """
    return output_options(click.pass_obj(aws_errors()(command)))


def _remember_stack(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value == "":
        raise click.BadParameter("no name is given")
    if value is not None:
        context.ensure_object(Output).stack = value


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        context.ensure_object(Output).json = True


def progress(out: Output, stage: str) -> Report:
    """Return the function to report with, from this stage on; it is silent with `--json`.

    It prints a line for each further stage, and for what changes within one now and then.
    """
    last, shown, since = stage, "", time.monotonic()

    def report(stage: str, done: int, total: int, unit: str) -> None:
        nonlocal last, shown, since
        line = f"{stage}: {done:,} of {total:,} {unit}" if total else stage
        is_due = stage != last or time.monotonic() - since >= _LINE_SECONDS
        if is_due and line != shown:
            last, shown, since = stage, line, time.monotonic()
            out.note(f"  {line}")

    return report


def counted(number: int, noun: str) -> str:
    """Return `1 event` or `1,200 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def is_terminal() -> bool:
    """Return True if standard output is a terminal."""
    return sys.stdout.isatty()


def plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under their headings, in columns aligned with spaces.

    A cell that is longer than `_WIDEST` shifts the rest of its own row only.
    """
    lines = [columns, *rows]
    widths = [
        min(_WIDEST, max(len(line[index]) for line in lines)) for index in range(len(columns))
    ]
    return "\n".join("  ".join(map(_cell, columns, line, widths)).rstrip() for line in lines)


def _cell(column: str, text: str, width: int) -> str:
    padding = " " * (width - len(text))
    has_colour = column in _STATES and is_terminal() and not os.environ.get("NO_COLOR")
    colour = _COLOURS.get(text) if has_colour else None
    return (click.style(text, fg=colour) if colour else text) + padding


def _write(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
