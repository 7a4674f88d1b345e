"""All tests: several parts side by side, the longest first.

python -m tests.suite [PART ...]    all parts unless some are named; exit 1 if one failed

`glue` names all parts that begin so; `contract`, the contract tests of each kind of target, where
no other kind's client is installed. Each part writes a log into .local/tests. Printed are a line as
a part begins and as it ends, what has passed so far, and the log of a part that failed. A part ends
at its third failure: behind a server that is gone each test waits for minutes. Much of a part is
waiting, for servers that start, time-outs and pauses, so that more parts run at once than there are
processors; JOBS says how many.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from tests import servers
from tests.environment import ROOT, SPARK

PYTEST: Final = ("-m", "pytest", "-q", "--maxfail", "3")


def contract(*kinds: str) -> dict[str, tuple[str, ...]]:
    """Return the parts of these kinds of target."""
    tests = (*PYTEST, "tests/contract", "--kind")
    return {f"contract-{kind}": ("-m", "tests.environment", kind, *tests, kind) for kind in kinds}


PARTS: Final = {
    "e2e": (*PYTEST, "tests/e2e", "--ignore", "tests/e2e/own_stack"),
    # One process computes all of a simulation, so that it begins early and beside the others.
    "unit-simulation": (*PYTEST, "tests/unit/simulation"),
    "unit": (
        *PYTEST,
        "tests/unit",
        "--ignore",
        "tests/unit/simulation",
        "--ignore",
        "tests/unit/limits",
    ),
    "deploys": (*PYTEST, "tests/e2e/own_stack"),
    "glue-4.1": (*PYTEST, "tests/glue"),
    "infra": (*PYTEST, "tests/infra"),
    "unit-limits": (*PYTEST, "tests/unit/limits"),
    **contract("elasticsearch"),
    # All but what is marked is our logic, not Spark's.
    "glue-3.5": ("-m", "tests.environment", SPARK, *PYTEST, "tests/glue", "-m", "both_sparks"),
    **contract(*servers.kinds()),
}
JOBS: Final = 6
LOGS: Final = ROOT / ".local" / "tests"
REPORT_SECONDS: Final = 60.0
END_SECONDS: Final = 25.0
_PROGRESS: Final = re.compile(r"^([.EFXsx]+) *(?:\[ *\d+%\])?$", re.MULTILINE)


class Part:
    """A part that runs in a session of its own, with all that it prints in its log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.log = LOGS / f"{name}.log"
        self._began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *PARTS[name]],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        say(f"{name} begins")

    @property
    def passed(self) -> int:
        """How many tests have passed."""
        return passed(self.log.read_text("utf-8", errors="replace"))

    def report(self) -> None:
        """Say how it ended; of one that failed, print all that it printed."""
        took = f"{self.passed} tests passed in {time.monotonic() - self._began:.0f} s"
        if self.process.returncode:
            print(self.log.read_text("utf-8", errors="replace"))
            say(f"{self.name} FAILED; {took}; its log is {self.log.relative_to(ROOT)}")
        else:
            say(f"{self.name} ends; {took}")

    def interrupt(self) -> None:
        """Interrupt it as Ctrl-C does: it ends what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)


def main(words: Sequence[str]) -> int:
    """Run the parts that these words name; the exit code."""
    named = {word: [name for name in PARTS if f"{name}-".startswith(f"{word}-")] for word in words}
    if unknown := [word for word, names in named.items() if not names]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    # A shell's background job begins with Ctrl-C ignored, and what it starts with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in PARTS if not words or any(name in each for each in named.values())]
    failed = False
    for part in ended(wanted, int(os.environ.get("JOBS") or JOBS)):
        part.report()
        failed |= part.process.returncode != 0
    return int(failed)


def say(text: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


def passed(log: str) -> int:
    """Return how many tests have passed, of all that a part has printed so far."""
    return sum(line.count(".") for line in _PROGRESS.findall(log))


def ended(names: Sequence[str], jobs: int) -> Iterator[Part]:
    """Run parts, so many at a time; yield each as it ends. All are ended if this is."""
    waiting = list(names)
    running: list[Part] = []
    reported = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Part(waiting.pop(0)))
            time.sleep(0.2)
            for part in [each for each in running if each.process.poll() is not None]:
                running.remove(part)
                yield part
            if running and time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                say(" · ".join(f"{each.name} {each.passed}" for each in running))
    finally:
        end(running)


def end(parts: Sequence[Part]) -> None:
    """Let parts end what they have started, whoever else wants an end meanwhile."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for part in parts:
        part.interrupt()
    for part in parts:
        with suppress(subprocess.TimeoutExpired):
            part.process.wait(END_SECONDS)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
