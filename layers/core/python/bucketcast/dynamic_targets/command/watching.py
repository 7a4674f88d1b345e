"""`bucketcast target ls --watch`: the table again and again, or in a pipe what has changed."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import click

from bucketcast.aws.clients import AwsError
from bucketcast.dynamic_targets.command.rows import COLUMNS
from bucketcast.terminal.output import Output, is_terminal, plain
from bucketcast.terminal.times import clock

SECONDS: Final = 2.0
_AGES: Final = ("OLDEST", "LAST OK")
"""Columns that change by themselves."""


def watch(out: Output, read: Callable[[], Sequence[Sequence[str]]]) -> None:
    """Show the rows that are read, and a line for what AWS refuses, until Ctrl-C is pressed."""
    shown: dict[str, list[str]] = {}
    problem = ""
    try:
        while True:
            try:
                _show(out, read(), shown)
                problem = ""
            except AwsError as error:
                if str(error) != problem:
                    problem = str(error)
                    out.note(f"{_now()}  {problem}")
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        return


def _show(out: Output, rows: Sequence[Sequence[str]], shown: dict[str, list[str]]) -> None:
    if is_terminal():
        click.clear()
        click.echo(plain(COLUMNS, rows))
        return
    lasting = [index for index, name in enumerate(COLUMNS) if name not in _AGES]
    for row in rows:
        cells = [row[index] for index in lasting]
        if shown.get(row[0]) != cells:
            shown[row[0]] = cells
            out.line("  ".join([_now(), *cells]))


def _now() -> str:
    return clock(round(time.time() * 1_000))
