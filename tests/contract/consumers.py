"""Runs the consumers of examples/ as their users do, and reads what they print."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.settings.options import read
from tests.contract.trial import bounded, event

CONSUMERS = Path(__file__).parents[2] / "examples" / "consumers"
PUT = ["2026-01-02T03:00:00.001Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "1"]
"""What every consumer prints of `event("a b.jpg", 1)`."""

Consumer = subprocess.Popen[str]


@contextmanager
def consumer(kind: str, *arguments: str, **environment: str) -> Iterator[Consumer]:
    """Run the kind's consumer until the block ends."""
    program = subprocess.Popen(
        [sys.executable, str(CONSUMERS / f"{kind}.py"), *arguments],
        env={**os.environ, **environment, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        try:
            yield program
        finally:
            program.terminate()


def words(program: Consumer) -> list[str]:
    """Return the words of the next line that it prints."""
    assert program.stdout is not None
    return bounded(program.stdout.readline).split()


def complaint(program: Consumer) -> str:
    """Return the next line of its standard error."""
    assert program.stderr is not None
    return bounded(program.stderr.readline)


def failure(program: Consumer) -> str:
    """Wait until it fails, with nothing printed, and return its standard error."""
    printed, errors = bounded(program.communicate)
    assert (program.returncode, printed) == (1, "")
    return errors


def check_that_consumer_waits(
    kind: str, server: Any, *arguments: str, format_: str, **environment: str
) -> None:
    """Start the consumer before there is anything to read, then deliver one event.

    Raises:
        AssertionError: it ended, or did not print the event.
    """
    target_class: Any = targets.load(kind)
    settings = read(target_class.Settings, server.settings(format=format_))
    with consumer(kind, *arguments, **environment) as program, target_class(settings) as target:
        assert complaint(program) == f"waiting for {server.destination}\n"
        assert target.send([event("a b.jpg", 1)]) == {}
        assert words(program) == PUT
