"""Run the `bucketcast` command in a process that is forked from one which has imported it all.

To import boto3 and the package and to read what describes AWS's services takes most of a
command's time, and these tests run hundreds. Each still has a process, an environment and a folder
of its own, and ends as the installed script does.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from botocore import client

from bucketcast import cli
from tests.command_result import CommandResult
from tests.e2e.recorder.sitecustomize import record

COMMAND = Path(sys.executable).with_name("bucketcast")

_FORKED = multiprocessing.get_context("forkserver")
_PRELOADED = "tests.e2e.preloaded"
_FORKED.set_forkserver_preload([__name__, _PRELOADED])


def run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, within: float
) -> CommandResult:
    """Wait for it to end; a command that takes longer is killed, and TimeoutExpired is raised."""
    with tempfile.TemporaryDirectory() as printed:
        out, err = Path(printed, "out"), Path(printed, "err")
        process = _FORKED.Process(
            target=_command, args=(list(arguments), folder, dict(environment), out, err)
        )
        process.start()
        process.join(within)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
        process.close()
        ran = CommandResult(
            -1 if code is None else code, out.read_text("utf-8"), err.read_text("utf-8")
        )
    if code is None:
        raise subprocess.TimeoutExpired([str(COMMAND), *arguments], within, ran.out, ran.err)
    return ran


def _command(
    arguments: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path
) -> None:
    assert _PRELOADED in sys.modules, "an ImportError there is hidden by multiprocessing"
    for path, stream in ((out, sys.stdout), (err, sys.stderr)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if calls := os.environ.get("BUCKETCAST_CALLS"):
        record(client, "the command", Path(calls))
    sys.argv = [str(COMMAND), *arguments]
    sys.exit(cli.main())
