"""`bucketcast target ls --watch`: the table again and again, or in a pipe what has changed."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import click

from bucketcast.dynamic_targets.command.rows import COLUMNS
from bucketcast.terminal.output import Output, is_terminal, plain
from bucketcast.terminal.times import clock

SECONDS: Final = 2.0
_AGES: Final = ("OLDEST", "LAST OK")
"""Columns that change by themselves."""


def watch(out: Output, read: Callable[[], Sequence[Sequence[str]]]) -> None:
    """Show the rows that are read, until the command is interrupted."""
    lasting = [index for index, name in enumerate(COLUMNS) if name not in _AGES]
    shown: dict[str, list[str]] = {}
    try:
        while True:
            rows = read()
            if is_terminal():
                click.clear()
                click.echo(plain(COLUMNS, rows))
            now = clock(round(time.time() * 1_000))
            for row in [] if is_terminal() else rows:
                cells = [row[index] for index in lasting]
                if shown.get(row[0]) != cells:
                    shown[row[0]] = cells
                    out.line("  ".join([now, *cells]))
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        return
