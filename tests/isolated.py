"""The contract tests of each kind where no other kind's client is installed.

python -m tests.isolated [KIND ...]   all kinds unless some are named; exit 1 if one failed

What all share is installed once; a kind's own environment adds its client to it. As many kinds run
at a time as there are processors; what a run printed is shown when it is done, and in the end a
line for each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from tests import servers

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".local" / "isolated"
SHARED = FOLDER / "shared"


class Result(NamedTuple):
    """How a kind's tests ended: pytest's exit code and all that it printed."""

    kind: str
    code: int
    printed: str
    seconds: float

    @property
    def summary(self) -> list[str]:
        """The servers that were talked to, and pytest's count."""
        lines = self.printed.rstrip().splitlines() or ["nothing was printed"]
        names = servers.names(self.kind)
        return [line for line in lines if line.split(" ")[0] in names] + lines[-1:]


def main(kinds: Sequence[str]) -> int:
    """Run them; the exit code."""
    wanted = list(kinds) or servers.kinds()
    if unknown := sorted(set(wanted) - set(servers.kinds())):
        print(f"no such kind: {', '.join(unknown)}; there are {', '.join(servers.kinds())}")
        return 2
    install_shared()
    results = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for done in as_completed([pool.submit(tested, kind) for kind in wanted]):
                result = done.result()
                results.append(result)
                print(
                    f"\n===== {result.kind}, {result.seconds:.0f} s\n{result.printed}", flush=True
                )
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    print("\n===== each kind alone, against its real servers")
    for result in sorted(results):
        print(f"{result.kind:<14} {'passed' if result.code == 0 else 'FAILED'}")
        print("".join(f"    {line}\n" for line in result.summary), end="")
    return int(any(result.code for result in results))


def install_shared() -> None:
    """Install all that the tests need beside a client."""
    python = new_environment(SHARED)
    install(python, "--require-hashes", "-r", "requirements/tests.txt")
    install(python, "--no-deps", "--no-build-isolation", "-e", ".")


def tested(kind: str) -> Result:
    """Install the kind's client beside what is shared, and run its tests."""
    start = time.monotonic()
    python = new_environment(FOLDER / kind)
    for mine, shared in zip(packages(FOLDER / kind), packages(SHARED), strict=True):
        (mine / "shared.pth").write_text(f"import site; site.addsitedir({str(shared)!r})\n")
    client = f"layers/clients/{kind}/requirements.txt"
    install(python, "--no-deps", "--require-hashes", "-r", client)
    done = subprocess.run(
        [python, "-m", "pytest", "tests/contract", "--kind", kind, "-q"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Result(kind, done.returncode, done.stdout, time.monotonic() - start)


def new_environment(folder: Path) -> Path:
    """Make an empty environment; return its Python."""
    checked([sys.executable, "-m", "venv", "--clear", "--without-pip", folder])
    return folder / "bin" / "python"


def install(python: Path, *packages: str) -> None:
    """Install what uv's arguments say; it takes a tenth of the time that pip takes."""
    checked(
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *packages]
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
    sys.exit(main(sys.argv[1:]))
