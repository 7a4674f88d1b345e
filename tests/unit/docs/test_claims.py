"""What pages and docstrings say about the code: names, files, imports and figures that exist."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from bucketcast import limits

ROOT: Final = Path(__file__).parents[3]
CODE: Final = ("layers/core/python", "functions", "glue_jobs", "bucketcast_cdk", "localstack")
PAGES: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_PATH: Final = re.compile(r"`([a-z_]+(?:/[\w.-]+)*/[\w-]+\.(?:py|lua|toml|sh|json|md))`")
_LINK: Final = re.compile(r"\]\(([^)\s:#]*)(?:#([^)\s]+))?\)")
_CONSTANT: Final = re.compile(r"`(?:[a-z_]+\.)*([a-z_]+)\.([A-Z][A-Z_]+)`")
_KIB: Final = 1_024


def test_no_page_promises_that_a_window_ends_in_time() -> None:
    """It may last `QUIET_WINDOW_SECONDS`, however short it is."""
    promise = re.compile(r"(window|throughput).*(up to|at most) (1 s|a second)\b")
    found = [
        f"{page.name}: {line}"
        for page in PAGES
        for line in page.read_text("utf-8").splitlines()
        if promise.search(line)
    ]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_files_that_a_page_names_are_there(page: Path, ours: str) -> None:
    named = set(_PATH.findall(page.read_text("utf-8")))
    missing = {path for path in named if f"/{path}\n" not in ours}
    assert missing == {path for path in missing if OTHERS.get(page.name, "no other") in path}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    links = [
        (page.parent / path if path else page, name) for path, name in _LINK.findall(_text(page))
    ]
    assert [str(file) for file, _ in links if not file.exists()] == []
    assert [f"{file}#{name}" for file, name in links if name and name not in _anchors(file)] == []


def _anchors(page: Path) -> set[str]:
    """Return the names that GitHub gives to the headings."""
    headings = re.findall(r"^#+ (.+)$", _text(page).lower(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def ours() -> str:
    """The paths of all files that git knows, each behind a slash."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return "".join(f"/{path}\n" for path in listed.splitlines())


OTHERS: Final = {"adding-a-target.md": "lines", "clients.md": "tests/functional/"}
"""By page: what the reader makes there, or is another project's."""


def test_the_constants_that_docstrings_name_are_there() -> None:
    files = [file for folder in CODE for file in (ROOT / folder).rglob("*.py")]
    defined = {(file.stem, name) for file in files for name in _constants(file)}
    defined |= {(file.parent.name, name) for file in files for name in _constants(file)}
    named = {pair for file in files for pair in _CONSTANT.findall(file.read_text("utf-8"))}
    assert named - defined == set()


def _constants(file: Path) -> Iterator[str]:
    for statement in ast.parse(file.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def test_pages_name_the_clients_that_the_tests_run() -> None:
    modules = (ROOT / "tests/servers/go").glob("*/go.mod")
    run = dict(re.findall(r"^require (\S+) (v\S+)$", "\n".join(map(_text, modules)), re.MULTILINE))
    installs = [
        each for page in PAGES for each in re.findall(r"go install (\S+)@([^` ]+)", _text(page))
    ]
    assert installs == [("github.com/minio/mc", run["github.com/minio/mc"])]
    year, month, day = re.findall(r"-(\d{4})(\d\d)(\d\d)\d{6}-", run["github.com/minio/mc"])[0]
    clients = re.findall(
        r"^\| (\S+) (?:of )?(\d\S+), `", _text(ROOT / "docs/clients.md"), re.MULTILINE
    )
    assert clients == [
        ("`mc`", f"{year}-{month}-{day}"),
        ("minio-py", version("minio")),
        ("minio-go", run["github.com/minio/minio-go/v7"].removeprefix("v")),
    ]


def test_the_tables_that_pages_show_have_the_columns_of_a_command() -> None:
    code = "\n".join(map(_text, (ROOT / "layers/core/python").rglob("*.py")))
    lists = re.findall(r"COLUMNS(?:: Final)? = \(([^)]*)\)", code)
    columns = {tuple(filter(None, re.findall(r'"([^"]*)"', each))) for each in lists}
    headings = re.compile(r"^ *([A-Z][A-Z ]*(?:  +[A-Z][A-Z ]*)+)$", re.MULTILINE)
    shown = {each for page in PAGES for each in headings.findall(_text(page))}
    assert shown
    assert {each for each in shown if tuple(re.split("  +", each)) not in columns} == set()


def _text(page: Path) -> str:
    return page.read_text("utf-8")


def test_architecture_names_those_who_may_import_commands_and_the_sdk() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    by_type = {contract["type"]: contract for contract in reversed(contracts["contracts"])}
    importers = [name.split(".")[1] for name in by_type["protected"]["allowed_importers"]]
    sdk = {line.split(" ->")[0] for line in by_type["forbidden"]["ignore_imports"]}
    modules = {re.sub(r"^bucketcast\.|\*\*\.|\.\*\*", "", name) for name in sdk}
    page = " ".join((ROOT / "docs/architecture.md").read_text("utf-8").split())
    assert f"only {' and '.join(f'`{name}`' for name in importers)} import `command`" in page
    (listed,) = re.findall(r"Only modules named ([^.]*(?:\.queue)[^.]*) import AWS's SDK", page)
    assert set(re.findall(r"`([\w.]+)`", listed)) == modules


CLAIMS: Final = {
    "architecture.md": (
        f"waits there for up to {limits.RETENTION_DAYS} days",
        f"with a pause that doubles, for {limits.TERM_DAYS} days",
        f"After {limits.TERM_DAYS} days an event goes to the dead-letter",
        f"in chunks of {limits.CHUNK_EVENTS:,} events or {limits.CHUNK_BYTES // _KIB**2} MiB",
        f"unpacks to over {limits.UNPACKED_BYTES // _KIB**2} MiB goes to",
        f"or several of up to {limits.MESSAGE_BYTES // _KIB**2} MiB",
        f"at most {round(limits.LONGEST_PAUSE_IN_ORDER_SECONDS / 60)} minutes, and nothing",
        f"SQS would move a message after {limits.MAX_RECEIVES:,} receives",
        f"without a reason. After {limits.RENEW_AFTER_RECEIVES} it is sent again",
        f"come back within {limits.SHORTEST_VISIBILITY_SECONDS} seconds, or, if it ran for",
    ),
    "operations.md": (
        f"asks for, up to {limits.LONGEST_DELAY_SECONDS // 60} minutes",
        f"From day {limits.NEARLY_DROPPED_DAYS} on the `…-waiting` alarm fires",
    ),
    "dead-letters.md": (f"until {limits.LONGEST_LIFE_DAYS} days after they happened",),
}


@pytest.mark.parametrize(("page", "claims"), CLAIMS.items(), ids=CLAIMS)
def test_a_page_has_the_figures_of_the_code(page: str, claims: tuple[str, ...]) -> None:
    text = " ".join((ROOT / "docs" / page).read_text("utf-8").split())
    assert [claim for claim in claims if claim not in text] == []
