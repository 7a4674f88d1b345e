"""What a machine has for test servers: their programs and free ports."""

import json
import os
import random
import shutil
import socket
from pathlib import Path


class MissingProgramError(Exception):
    """A server's program is not on this machine; says how to get it."""

    def __init__(self, program: str) -> None:
        super().__init__(f"{program} is not on this machine: run tests/servers/install")


_given: set[int] = set()
"""Ports that this program has handed out; whoever asked may not listen there yet."""


def find_program(name: str, *patterns: str) -> str:
    """Path of `name`: on PATH, in /usr/sbin, or the newest in a folder of these glob patterns.

    Raises `MissingProgramError`.
    """
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        folders = [folder for each in patterns for folder in Path("/").glob(each.lstrip("/"))]
        by_version = sorted(folders, key=lambda path: [int(n) for n in _numbers(str(path))])
        newest_first = os.pathsep.join(str(path) for path in reversed(by_version))
        found = shutil.which(name, path=newest_first) if newest_first else None
    if found is None:
        raise MissingProgramError(name)
    return found


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
    held: dict[str, socket.socket] = {}
    try:
        while len(held) < len(names):
            trial = socket.socket()
            port = random.randrange(20_000, 32_000)  # noqa: S311 no secret
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                trial.close()
                continue
            if port in _given:
                trial.close()
                continue
            _given.add(port)
            held[names[len(held)]] = trial
        chosen = {name: int(each.getsockname()[1]) for name, each in held.items()}
    finally:
        for each in held.values():
            each.close()
    file.write_text(json.dumps(chosen))
    return chosen


def _numbers(text: str) -> list[str]:
    return "".join(each if each.isdigit() else " " for each in text).split()
