"""The Java program of `elasticsearch`: a launcher, compiled when a product is first started."""

import fcntl
import subprocess
from os import pathsep
from pathlib import Path
from shutil import rmtree

from localstack.java import QUICK
from tests.servers.machine import MissingProgramError, find_program

_SERVERS = Path(__file__).parents[2] / ".local" / "servers"
_LAUNCHER = Path(__file__).parent / "java" / "SearchNode.java"
_OPTIONS = ("-Xms64m", "-Xmx384m", *QUICK)
_PROGRAMS = "/usr/lib/jvm/*/bin"


def command(product: str) -> list[str]:
    """Return the first words of a node's command; folder, port and the program in front follow.

    Raises `machine.MissingProgramError`.
    """
    java, made = find_program("java", _PROGRAMS), _SERVERS / product / "launcher"
    path = pathsep.join(map(str, [made, *jars(product)]))
    with (_SERVERS / product / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several programs of the tests may start here at once
        source = _LAUNCHER.read_text().replace("org.opensearch", f"org.{product}")
        note, wanted = made / "made-from", source + _version(java)
        if not note.exists() or note.read_text() != wanted:
            rmtree(made, ignore_errors=True)
            made.mkdir()
            _compile(source, path, made)
            note.write_text(wanted)
    return [java, *_OPTIONS, "-cp", path, _LAUNCHER.stem]


def jars(product: str) -> list[Path]:
    """Return the product's jars.

    Raises `machine.MissingProgramError`.
    """
    found = sorted((_SERVERS / product).glob("*.jar"))
    if not found:
        raise MissingProgramError(product)
    return found


def _version(java: str) -> str:
    return subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True, check=True).stderr


def _compile(source: str, path: str, folder: Path) -> None:
    file = folder / _LAUNCHER.name
    file.write_text(source)
    javac = find_program("javac", _PROGRAMS)
    subprocess.run([javac, "-cp", path, "-d", folder, file], check=True)
