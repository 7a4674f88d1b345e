"""The pipeline's tests on each Spark that the jobs run on: 4.1 (Glue 6.0) and 3.5 (Glue 5).

python -m tests.spark [VERSION ...]   both unless some are named; exit 1 if one failed

4.1 is part of the project's own environment; the older one gets an environment of its own, which
is made when its pinned file has changed. Unless it is named, it runs without what is marked
`one_spark`: whole scans and states, which are half of the time and test our logic, not Spark's.
"""

import hashlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.isolated import ROOT, install, new_environment

OLDER: Final = ROOT / ".local" / "spark-3.5"
PINNED: Final = ROOT / "requirements" / "spark-3.5.txt"
NOT_MARKED: Final = ["-m", "not one_spark"]
VERSIONS: Final = {"4.1": Path(sys.executable), "3.5": OLDER / "bin" / "python"}


def main(versions: Sequence[str]) -> int:
    """Run them one after the other; the exit code."""
    if unknown := sorted(set(versions) - set(VERSIONS)):
        print(f"no such Spark: {', '.join(unknown)}; there are {', '.join(VERSIONS)}")
        return 2
    wanted = versions or list(VERSIONS)
    if "3.5" in wanted:
        install_older()
    less = {} if versions else {"3.5": NOT_MARKED}
    codes = {version: tested(version, less.get(version, [])) for version in wanted}
    for version, code in codes.items():
        print(f"Spark {version:<4} {'passed' if code == 0 else 'FAILED'}")
    return int(any(codes.values()))


def install_older() -> None:
    """Make the environment, unless it is there as it is pinned."""
    note = OLDER / "made-from"
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()
    if note.is_file() and note.read_text() == digest:
        return
    python = new_environment(OLDER)
    install(python, "--require-hashes", "-r", str(PINNED))
    install(python, "--no-deps", "--no-build-isolation", "-e", ".")
    note.write_text(digest)


def tested(version: str, chosen: Sequence[str]) -> int:
    """Run the tests, or those chosen by more of pytest's arguments; pytest's exit code."""
    print(f"\n===== Spark {version}", flush=True)
    start = time.monotonic()
    command = [str(VERSIONS[version]), "-m", "pytest", "tests/glue", "-q", *chosen]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    print(f"Spark {version}: {time.monotonic() - start:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
