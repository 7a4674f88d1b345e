"""Run commands for pages, with the words that a page shows, and keep what they print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click
from starlette.requests import Request

from bucketcast.console.context import Context, context_of
from bucketcast.diagnose.command import doctor, test
from bucketcast.dlq import command as dlq
from bucketcast.dynamic_targets import command as target
from bucketcast.notifications.command import bucket, event
from bucketcast.pipeline.command import scan
from bucketcast.terminal.output import Output
from bucketcast.topics import command as topic

_COMMANDS: Final[Mapping[str, click.Command]] = {
    "bucket": bucket.command,
    "dlq": dlq.command,
    "doctor": doctor.command,
    "event": event.command,
    "scan": scan.command,
    "target": target.command,
    "test": test.command,
    "topic": topic.command,
}


@dataclass
class Answer(Output):
    """What a command has printed: notes, then a table or lines, or the `problem`."""

    document: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    printed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def has_bar(self) -> bool:
        return False

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

    def fail(self, error: str, code: str = "failed", *, field: str = "", hint: str = "") -> None:  # noqa: ARG002
        self.problem = error


def new_answer(context: Context, *, json: bool = False) -> Answer:
    """Return the answer of a command that has not run yet."""
    return Answer(json=json, aws=context.clients, stack=context.stack)


def run(request: Request, *words: str) -> Answer:
    """Run a command; return what it prints.

    Raises:
        UsageError: a word is wrong.
        BucketcastError: it failed.
    """
    return follow(new_answer(context_of(request), json=True), *words)


def follow(out: Answer, *words: str) -> Answer:
    """Run a command that takes a while; the answer has what it has printed so far.

    Raises:
        UsageError: a word is wrong.
        BucketcastError: it failed.
    """
    name, *arguments = words
    _COMMANDS[name].main(arguments, prog_name=f"bucketcast {name}", obj=out, standalone_mode=False)
    return out
