"""All tests: several parts side by side, the longest first.

python -m tests.suite [PART ...]    all parts unless some are named; exit 1 if one failed

Each part writes a log into .local/tests. Printed are a line a part as it ends, the log of one that
failed, and the slowest tests of all. Much of a part is waiting, for servers that start, time-outs
and pauses, so that more parts run at once than there are processors; JOBS says how many.
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

from tests.isolated import ROOT

PYTEST: Final = ("pytest", "-q")
PARTS: Final = {
    "e2e": (*PYTEST, "tests/e2e", "--ignore", "tests/e2e/own_stack"),
    "glue": ("tests.spark",),
    "isolated": ("tests.isolated",),
    "deploys": (*PYTEST, "tests/e2e/own_stack"),
    "infra": (*PYTEST, "tests/infra"),
    "unit": (*PYTEST, "tests/unit"),
}
LOGS: Final = ROOT / ".local" / "tests"
SLOWEST: Final = 10
DURATIONS: Final = "--durations 10 --durations-min 1"
END_SECONDS: Final = 25.0
_DURATION: Final = re.compile(r"^(\d+\.\d\d)s (?:call|setup|teardown) +.*", re.MULTILINE)
_PASSED: Final = re.compile(r"^(?:\d+ \w+, )*(\d+) passed\b.* in \d", re.MULTILINE)


class Part:
    """A part that runs in a session of its own, with all that it prints in its log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.log = LOGS / f"{name}.log"
        self._began = time.monotonic()
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} {DURATIONS}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *PARTS[name]],
                cwd=ROOT,
                env={**os.environ, "PYTEST_ADDOPTS": options},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def report(self) -> None:
        """Print how it ended; of one that failed, all that it printed."""
        text = self.log.read_text("utf-8", errors="replace")
        state = "FAILED" if self.process.returncode else "passed"
        if self.process.returncode:
            print(f"\n===== {self.name}\n{text}")
        tests = sum(int(count) for count in _PASSED.findall(text))
        seconds = time.monotonic() - self._began
        print(f"{self.name:<9} {state}  {tests:>5} tests passed in {seconds:4.0f} s", flush=True)

    def interrupt(self) -> None:
        """Interrupt it as Ctrl-C does: it ends what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)


def main(names: Sequence[str]) -> int:
    """Run these parts; the exit code."""
    if unknown := sorted(set(names) - set(PARTS)):
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    # A shell's background job begins with Ctrl-C ignored, and what it starts with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    wanted = list(names or PARTS)
    jobs = int(os.environ.get("JOBS") or 3)
    failed = False
    for part in ended(wanted, jobs):
        part.report()
        failed |= part.process.returncode != 0
    print("the slowest:", *slowest(wanted), sep="\n")
    return int(failed)


def ended(names: Sequence[str], jobs: int) -> Iterator[Part]:
    """Run parts, so many at a time; yield each as it ends. All are ended if this is."""
    waiting = list(names)
    running: list[Part] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Part(waiting.pop(0)))
            time.sleep(0.2)
            for part in [each for each in running if each.process.poll() is not None]:
                running.remove(part)
                yield part
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


def slowest(names: Sequence[str]) -> list[str]:
    """Return the lines of the tests that took longest, with their parts."""
    found = [
        (float(line[1]), f"{name:<9} {line[0]}")
        for name in names
        for line in _DURATION.finditer((LOGS / f"{name}.log").read_text("utf-8", errors="replace"))
    ]
    return [line for _, line in sorted(found, reverse=True)[:SLOWEST]]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
