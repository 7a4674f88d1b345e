"""The lines of docs/topics.md as they stand there."""

import re
import subprocess
from pathlib import Path

from localstack.layout import AWS_CLI_VENV
from tests.e2e.commands import COMMAND
from tests.e2e.deployment import ROOT
from tests.e2e.system import System

SECONDS = 300.0
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def shell(system: System, script: str) -> str:
    """What a script prints that has all that `make up` and `make setup` have installed."""
    own = f"{AWS_CLI_VENV / 'bin'}:{COMMAND.parent}"
    environment = {
        **system.environment,
        "PATH": f"{own}:{system.environment['PATH']}",
        "HOME": str(system.elsewhere),  # no configuration of the caller's
        "AWS_PAGER": "",
    }
    ran = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=system.elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, and a pattern of what it prints."""
    found: list[tuple[str, str]] = []
    goes_on = False
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        elif goes_on:
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
        goes_on = line.endswith("\\")
    return found


def fits(example: str, printed: str) -> bool:
    """Whether it was printed so; `…` stands for anything."""
    pattern = ".*".join(re.escape(part.strip("\n")) for part in example.split("…"))
    return bool(re.fullmatch(rf"\s*{pattern}.*", printed, re.DOTALL))


def test_each_line_of_the_page_does_what_it_shows(system: System) -> None:
    page = Path(ROOT / "docs" / "topics.md").read_text(encoding="utf-8")
    blocks = [block for block in _BLOCK.findall(page) if "aws" in block or "curl" in block]
    assert len(blocks) == 2
    before = ""
    for command, example in [each for block in blocks for each in commands(block)]:
        if command.startswith("set -a"):
            continue  # done by the fixture, from the file of its own folder
        changes = re.match(r"export |topics\(\)", command)
        printed = shell(system, f"{before}{command}")
        assert fits(example, printed), f"{command}\nprinted {printed}\nthe page shows {example}"
        before += f"{command}\n" if changes else ""
    system.bucketcast("notification", "rm", "--bucket", "uploads", "--notification-id", "mine")
