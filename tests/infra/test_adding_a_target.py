"""The files in `docs/adding-a-target.md` are all that a kind takes, shown in a copy of this."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_result import CommandResult
from tests.infra.conftest import ROOT

FILE = re.compile(
    r"^\*\*`(?P<path>.+?)`\*\*\n\n```\w+\n(?P<text>.+?)^```$", re.MULTILINE | re.DOTALL
)
DOCUMENT = (ROOT / "docs" / "adding-a-target.md").read_text(encoding="utf-8")
WRITTEN = [file["path"] for file in FILE.finditer(DOCUMENT) if file["path"].endswith(".py")]
EXTRAS = "[project.optional-dependencies]\n"

FOLDERS = (
    "examples",
    "functions",
    "glue_jobs",
    "layers",
    "localstack",
    "requirements",
    "bucketcast_cdk",
    "tests",
)
LOCK = """
import sys
sys.path.insert(0, "requirements")
import lock
lock.compile_to(lock.Path("layers/clients/lines/requirements.txt"), ["-"], within=lock.DEV)
"""
CONFIG = """
[bucket.uploads]
[notify_lines.primary]
address = "lines.example:7000"
token = "secret:lines-primary"
"""
SYNTH = """
import json
from aws_cdk import App, Stack
from aws_cdk.assertions import Template
from bucketcast.config import load
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CONTEXT, ROOT
config = load(ROOT / "bucketcast.toml", {}, local=False)
app = App(context=CONTEXT, outdir=str(ROOT / "out"))
stack = Stack(app, "Bucketcast")
Bucketcast(stack, "Default", config=config)
print(json.dumps(Template.from_stack(stack).to_json()))
"""
BUCKETCAST = ("-c", "import sys; from bucketcast.cli import main; sys.exit(main())")
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the document's files, as `make lock` leaves it, and a configuration."""
    root = tmp_path_factory.mktemp("with-lines")
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("app.py", "cdk.json", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    (ROOT / ".local/bundles").mkdir(exist_ok=True)
    for name in (".venv", ".local/lambda-venv", ".local/bundles"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    for file in FILE.finditer(DOCUMENT):
        path, text = root / file["path"], file["text"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "pyproject.toml":
            text = path.read_text(encoding="utf-8").replace(EXTRAS, EXTRAS + text)
        path.write_text(text, encoding="utf-8")
    succeed(root, "-c", LOCK)
    (root / "bucketcast.toml").write_text(CONFIG, encoding="utf-8")
    return root


def run(root: Path, *arguments: str) -> CommandResult:
    """Python in the copy, with the copy's modules."""
    paths = os.pathsep.join(str(root / each) for each in ("layers/core/python", ""))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def succeed(root: Path, *arguments: str) -> str:
    """What it prints."""
    ran = run(root, *arguments)
    assert ran.code == 0, ran.out + ran.err
    return ran.out


def test_new_kind_is_found_and_its_options_are_checked(copy: Path) -> None:
    found = json.loads(succeed(copy, *BUCKETCAST, "config", "--json"))
    assert "arn:minio:sqs::primary:lines" in json.dumps(found)
    wrong = copy / "wrong.toml"
    wrong.write_text(CONFIG.replace("address", "adress"), encoding="utf-8")
    refused = run(copy, *BUCKETCAST, "config", "--file", str(wrong))
    assert refused.code == 2
    assert "adress: unknown key; did you mean 'address'?" in refused.err


def test_new_kind_gets_queues_and_a_function(copy: Path) -> None:
    template = json.loads(succeed(copy, "-c", SYNTH))
    made = [found.get("Properties", {}) for found in template["Resources"].values()]
    queues = {each["QueueName"] for each in made if "lines" in each.get("QueueName", "")}
    assert queues == {"Bucketcast-lines-primary", "Bucketcast-lines-primary-dead"}
    (function,) = (each for each in made if "lines" in each.get("FunctionName", {}))
    assert function["Environment"]["Variables"]["BUCKETCAST_KIND"] == "lines"


def test_new_kind_passes_the_contract(copy: Path) -> None:
    printed = succeed(copy, *PYTEST, "tests/contract", "--kind", "lines", "-rA")
    for test in ("test_targets_on_lambda.py::", "test_targets_tls.py::"):
        assert f"PASSED tests/contract/{test}" in printed
    assert "XFAIL" not in printed


def test_files_of_the_new_kind_pass_ruff(copy: Path) -> None:
    for command in ("check", "format --check"):
        succeed(copy, "-m", "ruff", *command.split(), "--no-cache", *WRITTEN)
