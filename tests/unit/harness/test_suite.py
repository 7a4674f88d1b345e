"""`make test`: what CI calls, its parts."""

import re
from pathlib import Path

from tests import servers, suite

ROOT = Path(__file__).parents[3]


def test_ci_runs_the_command_of_the_readme() -> None:
    readme, script = (ROOT / "README.md").read_text("utf-8"), (ROOT / ".ci/run").read_text("utf-8")
    commands = re.findall(r"^\$ (.+?) +# all tests$", readme, re.MULTILINE)
    calls = re.findall(r"^timeout (?:--\S+ )*\S+ (.+) </dev/null", script, re.MULTILINE)
    assert calls == commands == ["make test"]


def test_each_folder_of_tests_is_a_part() -> None:
    folders = {word for command in suite.PARTS.values() for word in command if "/" in word}
    found = {f"tests/{file.relative_to(ROOT / 'tests').parts[0]}" for file in _files()}
    assert {"/".join(folder.split("/")[:2]) for folder in folders} == found
    assert {f"contract-{kind}" for kind in servers.kinds()} < set(suite.PARTS)


def _files() -> list[Path]:
    return [
        file
        for file in (ROOT / "tests").glob("*/**/test_*.py")
        if not file.is_relative_to(ROOT / "tests" / "servers")
    ]
