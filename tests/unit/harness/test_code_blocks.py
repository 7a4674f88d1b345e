"""Every code block of the pages works: it is tried here, or a test that runs it is named.

Shell runs in bash, where each program only records its arguments, which are checked by what
the program itself knows. `<!-- AWS only -->` stands before what cannot be tried here.
"""

import json
import os
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import botocore.session
import click
import pytest
from botocore import xform_name

from bucketcast import cli
from bucketcast.config import load

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted(ROOT.glob("docs/**/*.md")) if page.parent.name != "adr"),
]
BLOCK: Final = re.compile(
    r"^(?P<mark><!-- AWS only -->\n)?(?P<indent> *)```(?P<language>\w*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TYPED: Final = re.compile(r"^\$ (.*(?:(?<=\\)\n.*|\n> .*)*)", re.MULTILINE)
PROGRAMS: Final = (
    *("aws", "bucketcast", ".venv/bin/bucketcast", "make", "python", ".venv/bin/python"),
    *(".venv/bin/pytest", "localstack/spark-submit", "node_modules/.bin/cdk"),
    *("cat", "cp", "curl", "git", "mc", "sleep", "tee", "unzip"),
)
# Programs of a pipeline record at the same time, so each does it by one write.
RECORD: Final = r"""{ local IFS=$'\037'; printf '%s\037\036' "$*" >> called; echo VALUE; }"""
SESSION: Final = botocore.session.get_session()
OF_ALL_CALLS: Final = {"query", "output", "region", "profile", "endpoint-url"}
NEEDED: Final[Mapping[str, Any]] = {
    "notify_webhook": {"primary": {"endpoint": "https://example.org/hook"}},
    "notify_postgres": {"mirror": {"connection_string": "secret:postgres", "table": "mirror"}},
}
"""What tables of the pages leave out of a target."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, named by its page and line."""

    page: str
    line: int
    language: str
    text: str
    marked: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(
            str(page.relative_to(ROOT)),
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            textwrap.dedent(found["text"]),
            bool(found["mark"]),
        )
        for found in BLOCK.finditer(text)
    ]


BLOCKS: Final = [block for page in PAGES for block in blocks(page)]


def run(script: str) -> None:
    """Run it in the working folder, and check each call of a program."""
    assert script, "nothing to type"
    Path(".local").mkdir()
    Path(".local/env").touch()
    functions = "".join(f'{name}() {{ record {name} "$@"; }}\n' for name in PROGRAMS)
    bash = subprocess.run(
        ["/bin/bash", "-c", f"record() {RECORD}\n{functions}PATH=none\n{script}"],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not bash.stderr
    called = Path("called").read_text("utf-8") if Path("called").exists() else ""
    for call in called.split("\036")[:-1]:
        program, *words = call.split("\037")[:-1]
        name = Path(program).name
        if name in CALLS:
            CALLS[name](words)
        for word in (program, *words):
            folder, slash, _ = word.partition("/")
            assert not (folder and slash and (ROOT / folder).is_dir()) or (ROOT / word).exists()


def aws(words: list[str]) -> None:
    service, operation, *rest = words
    if service == "s3" or words[:2] == ["logs", "tail"]:
        return  # the command's own, no calls of a service
    model = SESSION.get_service_model(service.removesuffix("api"))
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    assert shape
    given = {word[2:] for word in rest if word.startswith("--")} - OF_ALL_CALLS
    assert given <= {xform_name(name, "-") for name in shape.members}, words
    assert given >= {xform_name(name, "-") for name in shape.required_members}, words


def bucketcast(words: list[str]) -> None:
    assert cli.main(words) != cli.MISUSE, words


def make(words: list[str]) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets), words


def python(words: list[str]) -> None:
    assert words[0] != "-m" or find_spec(words[1]), words


CALLS: Final[Mapping[str, Callable[[list[str]], None]]] = {
    "aws": aws,
    "bucketcast": bucketcast,
    "make": make,
    "python": python,
}


def toml(text: str) -> None:
    tables = tomllib.loads(text)
    for name, needed in NEEDED.items():
        for key in needed.keys() & tables.get(name, {}).keys():
            tables[name][key] = needed[key] | tables[name][key]
    load(tables, {}, local=False)


CHECKS: Final[Mapping[str, Callable[[str], Any]]] = {
    "console": lambda text: run("\n".join(TYPED.findall(text)).replace("\n> ", "\n")),
    "json": json.loads,
    "python": lambda text: compile(text, "", "exec"),
    "sh": run,
    "toml": toml,
    "yaml": lambda text: run("\n".join(re.findall(r"- run: (.+)", text))),
}
SHOWN: Final = {"text"}
"""Output: nobody types it."""
RUN_BY: Final = {
    ("docs/adding-a-target.md", "toml"): "tests/infra/test_adding_a_target.py",
    ("docs/shapes.md", "http"): "tests/unit/docs/test_shapes.py",
}


@pytest.fixture(autouse=True)
def _parsing_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands end after their words are parsed; files that they name need not exist."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(click.Command, "invoke", lambda *_: None)
    monkeypatch.setattr(click.Path, "convert", lambda _, value, *__: Path(os.fspath(value)))


def test_each_fence_is_of_a_block() -> None:
    assert sum(page.read_text("utf-8").count("```") for page in PAGES) == 2 * len(BLOCKS)
    assert RUN_BY.keys() <= {(block.page, block.language) for block in BLOCKS}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_works(block: Block) -> None:
    elsewhere = RUN_BY.get((block.page, block.language))
    if elsewhere:
        assert block.page in (ROOT / elsewhere).read_text("utf-8")
    elif not block.marked and block.language not in SHOWN:
        assert block.language in CHECKS, "mark it, or name the test that runs it in RUN_BY"
        CHECKS[block.language](block.text)
