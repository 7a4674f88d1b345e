"""Runs `examples/consume.py` as its users do, and reads what it prints."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.contract.case import bounded
from tests.servers import Settings

PROGRAM = Path(__file__).parents[2] / "examples" / "consume.py"

Reader = subprocess.Popen[str]


@contextmanager
def reader(
    kind: str, settings: Settings, *options: str, output: int | IO[str] = subprocess.PIPE
) -> Iterator[Reader]:
    """Read a kind until the block ends; the settings of its target are in the environment."""
    variables = {f"{kind}_{name}".upper(): text for name, text in settings.items()}
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), kind, *options],
        env={**os.environ, **variables, "PYTHONIOENCODING": "utf-8"},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        try:
            yield program
        finally:
            program.terminate()


def words(program: Reader) -> list[str]:
    """Return the words of the next line that it prints."""
    assert program.stdout is not None
    return bounded(program.stdout.readline).split()


def wait_until_reading(program: Reader, place: str) -> None:
    assert program.stderr is not None
    assert bounded(program.stderr.readline) == f"waiting for events of {place}\n"


def failure(program: Reader) -> str:
    """Wait until it fails, with nothing printed, and return its standard error."""
    printed, errors = bounded(program.communicate)
    assert (program.returncode, printed or "") == (1, "")
    return errors
