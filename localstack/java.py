"""The Java that Spark runs on: 17 or 21, wherever the machine has one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from localstack.layout import Failure

GOOD = (21, 17)
PLACES = (
    "/usr/lib/jvm/*",
    "/opt/homebrew/opt/openjdk@*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
HINT = "apt-get install openjdk-17-jre-headless, brew install openjdk@21; or name it in JAVA_HOME"


def home() -> Path:
    """Return the folder of one, or raise Failure with what is there instead."""
    seen: dict[Path, int] = {}
    for folder in _homes():
        resolved = folder.resolve()
        if resolved not in seen:
            seen[resolved] = version(resolved)
            if seen[resolved] in GOOD:
                return resolved
    there = ", ".join(f"{number} at {folder}" for folder, number in seen.items() if number)
    wanted = " or ".join(str(number) for number in sorted(GOOD))
    raise Failure(f"Spark needs Java {wanted}, found {there or 'none'}: {HINT}")


def version(folder: Path) -> int:
    """Return the number that a Java calls itself by; 0 where there is none."""
    program = folder / "bin" / "java"
    if not program.exists():
        return 0
    answer = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(found[1]) if found else 0


def _homes() -> Iterator[Path]:
    """Named, then on PATH, then where systems put them."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if program := shutil.which("java"):
        yield Path(program).resolve().parent.parent
    for pattern in PLACES:
        yield from sorted(Path("/").glob(pattern[1:]))
