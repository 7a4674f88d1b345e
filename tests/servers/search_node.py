"""The Java program of `elasticsearch`: a launcher, and an archive of the classes that it loads.

Half of a node's start is the loading of classes; from the archive (Java's class data sharing) they
are mapped into memory. Both are made when a product is first started, and when Java has changed.
"""

import fcntl
import subprocess
from os import pathsep
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from tests.servers.machine import MissingProgramError, find_program

_SERVERS = Path(__file__).parents[2] / ".local" / "servers"
_LAUNCHER = Path(__file__).parent / "java" / "SearchNode.java"
_OPTIONS = ("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PROGRAMS = "/usr/lib/jvm/*/bin"


def command(product: str) -> list[str]:
    """Return the first words of a node's command; folder, port and the program in front follow.

    Raises `machine.MissingProgramError`.
    """
    java = find_program("java", _PROGRAMS)
    made = _SERVERS / product / "launcher"
    launcher, archive = made / "launcher.jar", made / "classes.jsa"
    path = pathsep.join(map(str, [launcher, *jars(product)]))
    node = ["-cp", path, _LAUNCHER.stem]
    with (_SERVERS / product / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several programs of the tests may start here at once
        source = _LAUNCHER.read_text().replace("org.opensearch", f"org.{product}")
        note, wanted = made / "made-from", source + _version(java)
        if not note.exists() or note.read_text() != wanted:
            rmtree(made, ignore_errors=True)
            made.mkdir()
            _compile(source, path, launcher)
            _archive([java, *_OPTIONS, f"-XX:ArchiveClassesAtExit={archive}", *node])
            note.write_text(wanted)
    return [java, *_OPTIONS, f"-XX:SharedArchiveFile={archive}", *node]


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


def _compile(source: str, path: str, jar: Path) -> None:
    """Make the launcher's jar: Java archives no classes of a folder."""
    file = jar.parent / _LAUNCHER.name
    file.write_text(source)
    javac = find_program("javac", _PROGRAMS)
    subprocess.run([javac, "-cp", path, "-d", jar.parent, file], check=True)
    with ZipFile(jar, "w") as made:
        for each in jar.parent.glob("*.class"):
            made.write(each, each.name)


def _archive(node: list[str]) -> None:
    """Run a node that ends once it has started, which is when Java writes its archive."""
    with TemporaryDirectory() as folder:
        subprocess.run([*node, folder, "0", "true"], check=True, capture_output=True)
