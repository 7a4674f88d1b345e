"""The lines of docs/topics.md and docs/moving-from-ceph.md as they stand there."""

import re

import pytest

from localstack.layout import AWS_CLI_VENV
from tests.e2e.commands import COMMAND
from tests.e2e.deployment import ROOT, succeed
from tests.e2e.system import System

RGW = "https://rgw.example.com"
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
    return succeed(["bash", "-e", "-c", script], system.elsewhere, environment)


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


def answer_of_rgw(system: System, command: str, example: str) -> None:
    """Keep what RGW answers on the page, for want of an RGW."""
    if file := re.search(r"\| tee (\S+)$", command):
        (system.elsewhere / file[1]).write_text(example, encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "removals"),
    [
        ("topics", []),
        (
            "moving-from-ceph",
            [
                "notification rm --bucket uploads --notification-id mine",
                "topic rm photos --tenant acme --yes",
                "user rm ann",
            ],
        ),
    ],
)
def test_each_line_of_the_page_does_what_it_shows(
    system: System, page: str, removals: list[str]
) -> None:
    (system.elsewhere / "ann.secret").write_text("h7GhxuBLTrlhVUyxSPUKUV8r2EI4ngqJxD7iBdBY\n")
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    before = ""
    for command, example in [each for block in _BLOCK.findall(text) for each in commands(block)]:
        if command.startswith("set -a"):
            before = ""  # the rest is done by the fixture, from the file of its own folder
            continue
        if RGW in command:
            answer_of_rgw(system, command, example)
            continue
        changes = re.match(r"export |topics\(\)", command)
        printed = shell(system, f"{before}{command}")
        assert fits(example, printed), f"{command}\nprinted {printed}\nthe page shows {example}"
        before += f"{command}\n" if changes else ""
    for removal in removals:
        removed = system.bucketcast(*removal.split())
        assert removed.code == 0, removed.err
