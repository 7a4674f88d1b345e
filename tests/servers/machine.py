"""What a machine has for test servers: their programs and free ports."""

import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Final

from localstack import machine

FIRST_PORT: Final = 20_000
RANGES: Final = 60
RANGE_SIZE: Final = 200


class MissingProgramError(Exception):
    """A server's program is not on this machine; says how to get it."""

    def __init__(self, program: str) -> None:
        super().__init__(f"{program} is not on this machine: run tests/servers/install")


def find_program(name: str, *patterns: str) -> str:
    """Path of `name`: on PATH, in /usr/sbin, or the newest in a folder of these glob patterns.

    Raises `MissingProgramError`.
    """
    found = (
        shutil.which(name)
        or shutil.which(name, path="/usr/sbin")
        or machine.newest(name, *patterns)
    )
    if found is None:
        raise MissingProgramError(name)
    return found


def go_sources(program: str, module: str) -> Path:
    """Return the folder of a module that a server is built from."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    folder = Path(__file__).parent / "go" / program
    return Path(subprocess.check_output(command, cwd=folder, text=True).strip())


def ports(folder: Path, *names: str) -> dict[str, int]:
    """A free port for each name, the same ones whenever asked for the same folder.

    They lie below the range that systems hand out for outgoing connections: one of those could take
    the port of a server that is down, or connect to itself there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "ports.json"
    if file.exists():
        kept: dict[str, int] = json.loads(file.read_text())
        if kept.keys() == set(names):
            return kept
    with ExitStack() as bound:
        chosen = {name: _bind_free_port(bound) for name in names}
    file.write_text(json.dumps(chosen))
    return chosen


def _bind_free_port(bound: ExitStack) -> int:
    """Bind a free port until `bound` is closed."""
    while True:
        with _one_at_a_time:
            port = next(_candidates)
        probe = bound.enter_context(socket.socket())
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return port


def _ports_of_this_program() -> Iterator[int]:
    """Yield ports that no other program of the tests takes while this one runs, each once.

    Whoever asks for a port may not listen there yet, and a server that is down must find its own
    free, so each program has ranges to itself, by locks that end with it.
    """
    for number in random.sample(range(RANGES), RANGES):
        file = Path(tempfile.gettempdir(), f"bucketcast-ports-{os.getuid()}-{number}")
        lock = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        first = FIRST_PORT + number * RANGE_SIZE
        yield from random.sample(range(first, first + RANGE_SIZE), RANGE_SIZE)


_candidates: Final = _ports_of_this_program()
_one_at_a_time: Final = Lock()
