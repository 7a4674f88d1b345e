"""The Java for Spark: 17 or 21, wherever the machine has one; and how what is small starts soon."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from localstack.layout import Failure

SUPPORTED = (21, 17)
QUICK = (
    # Little is done, so a second compiler and collector threads cost more than they save.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # To verify classes takes a fifth of a start; whoever made these jars is trusted anyway.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
HINT = "apt-get install openjdk-17-jre-headless, or name one in JAVA_HOME"


def home() -> Path:
    """Return the folder of a supported Java, or raise Failure with the versions that exist."""
    versions: dict[Path, int] = {}
    for folder in _homes():
        resolved = folder.resolve()
        if resolved not in versions:
            versions[resolved] = version(resolved)
            if versions[resolved] in SUPPORTED:
                return resolved
    existing = ", ".join(f"{number} at {folder}" for folder, number in versions.items() if number)
    wanted = " or ".join(str(number) for number in sorted(SUPPORTED))
    raise Failure(f"Spark needs Java {wanted}, found {existing or 'none'}: {HINT}")


def version(folder: Path) -> int:
    """Return the major version of a Java; 0 where there is none."""
    program = folder / "bin" / "java"
    if not program.exists():
        return 0
    result = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    return int(match[1]) if match else 0


def _homes() -> Iterator[Path]:
    """Yield the folder in JAVA_HOME, then that on PATH, then those of the system's packages."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if program := shutil.which("java"):
        yield Path(program).resolve().parent.parent
    yield from sorted(Path("/usr/lib/jvm").glob("*"))
