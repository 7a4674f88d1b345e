"""Python in an environment of its own, beside the project's.

python -m tests.environment NAME ARGUMENT ...

Of the name of a kind of target, it has what the contract tests need and that kind's client, so that
the tests show that no other is needed. `spark-3.5` has the Spark of Glue 5; the project's own has
4.1, that of Glue 6.0. An environment is made when what is pinned for it has changed.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from tests import servers

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / ".local" / "environments"
SPARK: Final = "spark-3.5"
SHARED: Final = "tests"
"""What the kinds' environments share, so that it is installed once."""


def main(name: str, arguments: Sequence[str]) -> NoReturn:
    """Become the environment's Python with these arguments."""
    if name not in (SPARK, *servers.kinds()):
        sys.exit(f"no such environment: {name}; there are {', '.join((SPARK, *servers.kinds()))}")
    python = of_spark() if name == SPARK else of_kind(name)
    os.execv(python, [str(python), *arguments])  # noqa: S606 - there is nothing for a shell


def of_spark() -> Path:
    """Return the Python of the older Spark."""
    return made(SPARK, f"requirements/{SPARK}.txt")


def of_kind(kind: str) -> Path:
    """Return the Python that has no other client than this kind's."""
    shared = made(SHARED, "requirements/tests.txt").parents[1]
    return made(kind, f"layers/clients/{kind}/requirements.txt", shared)


def made(name: str, pinned: str, shared: Path | None = None) -> Path:
    """Make an environment, unless it is there as it is pinned; return its Python.

    It has what the shared one has, or `bucketcast` as it is in the checkout.
    """
    folder = FOLDER / name
    note = folder / "made-from"
    texts = [(ROOT / each).read_text("utf-8") for each in (pinned, "pyproject.toml")]
    wanted = "\n".join([sys.version, *texts])
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if note.is_file() and note.read_text("utf-8") == wanted:
            return folder / "bin" / "python"
        python = new_environment(folder)
        install(python, "--no-deps", "--require-hashes", "-r", pinned)
        if shared:
            for mine, theirs in zip(packages(folder), packages(shared), strict=True):
                (mine / "shared.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n")
        else:
            install(python, "--no-deps", "--no-build-isolation", "-e", ".")
        note.write_text(wanted, "utf-8")
    return python


def new_environment(folder: Path) -> Path:
    """Make an empty environment; return its Python."""
    checked([sys.executable, "-m", "venv", "--clear", "--without-pip", folder])
    return folder / "bin" / "python"


def install(python: Path, *arguments: str) -> None:
    """Install what uv's arguments say; it takes a tenth of the time that pip takes."""
    checked(
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *arguments]
    )


def packages(environment: Path) -> list[Path]:
    """Where its packages are."""
    return list(environment.glob("lib/python*/site-packages"))


def checked(command: Sequence[object]) -> None:
    """Run it in the checkout; what it says is seen only if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
