"""A consumer of examples/ that reads a table or key waits until the target has created it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.settings.options import read
from tests.contract.trial import bounded, event

CONSUMERS = Path(__file__).parents[2] / "examples" / "consumers"
PUT = ["2026-01-02T03:00:00.001Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "1"]


def check_that_consumer_waits(
    kind: str,
    server: Any,
    arguments: Sequence[str],
    format_: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Start the consumer before there is anything to read, then deliver one event.

    Raises:
        AssertionError: it ended, or did not print the event.
    """
    program = subprocess.Popen(
        [sys.executable, str(CONSUMERS / f"{kind}.py"), *arguments],
        env={**os.environ, **(environment or {}), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        assert program.stdout is not None
        assert program.stderr is not None
        try:
            assert bounded(program.stderr.readline) == f"waiting for {server.destination}\n"
            target_class: Any = targets.load(kind)
            settings = read(target_class.Settings, server.settings(format=format_))
            with target_class(settings) as target:
                assert target.send([event("a b.jpg", 1)]) == {}
                assert bounded(program.stdout.readline).split() == PUT
        finally:
            program.terminate()
