"""Install into the checkout what is pinned: `python -m localstack.install deploy|spark|dev`.

The project's environment (`.venv`), the emulator's (which pins its own botocore), the AWS CDK from
npm, and for development the AWS CLI and Lambda's Python. A note in each, written last, holds the
digests of the pinned files and the interpreter: without it, or when they changed, it is made again.
Only the standard library is used here, since nothing is installed yet.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from localstack.layout import (
    AWS_CLI_VENV,
    CDK,
    EMULATOR_VENV,
    INSTALLED,
    LAMBDA_VENV,
    PROJECT_VENV,
    ROOT,
    Failure,
    read_record,
)
from localstack.machine import interpreter

Note = dict[str, str]
NOTE = "installed.json"
NODE_MODULES = ROOT / "node_modules"
TAIL_LINES = 25
AT_ONCE = 2
# The levels that contain each: dev contains spark, which contains deploy.
LEVELS = {"deploy": ("deploy", "spark", "dev"), "spark": ("spark", "dev"), "dev": ("dev",)}


class Venv(NamedTuple):
    """An environment of pinned packages; `version` is its Python's, "" for the running one."""

    title: str
    folder: Path
    pinned: str
    version: str = ""

    def note(self) -> Note:
        """Return the note of an environment that is up to date."""
        python = interpreter(self.version) if self.version else _interpreter()
        return {"python": python} | _digests(self.pinned)

    def install(self, level: str) -> None:
        """Create the environment again."""
        python = interpreter(self.version) if self.version else sys.executable
        _new_venv(self.folder, python, *(["--without-pip"] if level == "dev" else []))
        _run(self.title, [*_into(self.folder, level), "--require-hashes", "-r", self.pinned])
        _finish(self.folder, self.note())


EMULATOR = Venv("the emulator's environment", EMULATOR_VENV, "localstack/requirements.txt")
AWS_CLI = Venv("the AWS CLI", AWS_CLI_VENV, "requirements/aws-cli.txt")
LAMBDA = Venv("Lambda's environment", LAMBDA_VENV, "requirements/lambda.txt", "3.13")


def main() -> int:
    """Install the packages of the level; print nothing when they are all there."""
    parser = argparse.ArgumentParser(prog="localstack.install", description=__doc__.split("\n")[0])
    parser.add_argument("level", choices=LEVELS)
    try:
        install(parser.parse_args().level)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: run it again, it repeats the unfinished steps", file=sys.stderr)
        return 130
    return 0


def install(level: str) -> None:
    """Bring the environments up to the pinned files, or raise Failure."""
    if shutil.which("npm") is None:
        raise Failure("npm is not installed: get Node.js 20 or newer from https://nodejs.org")
    INSTALLED.mkdir(exist_ok=True)
    wanted: list[Callable[[], None]] = []
    if not any(_note(PROJECT_VENV) == _project_note(name) for name in LEVELS[level]):
        _prepare(level)
        wanted.append(partial(_project, level))
    venvs = (EMULATOR, AWS_CLI, LAMBDA) if level == "dev" else (EMULATOR,)
    wanted += [partial(each.install, level) for each in venvs if _note(each.folder) != each.note()]
    if not CDK.exists() or _note(NODE_MODULES) != _cdk_note():
        wanted.append(_cdk)
    # The project's takes as long as all others together.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for each in [pool.submit(install) for install in wanted]:
            each.result()


def _prepare(level: str) -> None:
    """Give the project's environment what installs into all of them."""
    # Only a finished environment of the same interpreter can be extended.
    if _note(PROJECT_VENV).get("python") != _interpreter():
        _new_venv(PROJECT_VENV)
    (PROJECT_VENV / NOTE).unlink(missing_ok=True)
    if level == "dev":
        pip = _into(PROJECT_VENV, "deploy")
        _run("uv", [*pip, "--require-hashes", "-r", "requirements/uv.txt"])


def _project(level: str) -> None:
    command = _into(PROJECT_VENV, level)
    pinned = ["--require-hashes", "-r", f"requirements/{level}.txt"]
    _run(f"the project's environment ({level})", [*command, *pinned])
    # The build backend is pinned with the rest, so nothing is fetched for the build.
    _run("bucketcast itself", [*command, "--no-deps", "--no-build-isolation", "-e", "."])
    _finish(PROJECT_VENV, _project_note(level))


def _into(folder: Path, level: str) -> list[str]:
    """Return the command that installs into an environment.

    For development it is uv, which takes a third of pip's CPU, as the tests use it. But uv knows
    nothing of pip's settings, so that who only tries Bucketcast gets it by pip.
    """
    ours, theirs = (str(each / "bin" / "python") for each in (PROJECT_VENV, folder))
    if level == "dev":
        return [ours, "-m", "uv", "pip", "install", "--python", theirs]
    # Each has a pip of its own: the project's replaces itself meanwhile.
    return [theirs, "-m", "pip", "install"]


def _cdk() -> None:
    (NODE_MODULES / NOTE).unlink(missing_ok=True)
    _run("the AWS CDK", ["npm", "ci", "--no-fund", "--no-audit", "--loglevel=error"])
    _finish(NODE_MODULES, _cdk_note())


def _new_venv(folder: Path, python: str = sys.executable, *options: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _run(str(folder.relative_to(ROOT)), [python, "-m", "venv", *options, str(folder)])


def _run(title: str, command: list[str]) -> None:
    """Run one command in the checkout; its output is shown only when it fails."""
    began = time.monotonic()
    print(f"installing {title} ...", flush=True)
    result = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        tail = "\n".join(result.stdout.splitlines()[-TAIL_LINES:])
        raise Failure(f"installing {title} failed: {' '.join(command)}\n{tail}")
    print(f"installed {title} in {time.monotonic() - began:.0f} s", flush=True)


def _project_note(level: str) -> Note:
    return {"python": _interpreter(), "level": level} | _digests(
        f"requirements/{level}.txt", "pyproject.toml"
    )


def _cdk_note() -> Note:
    return _digests("package-lock.json")


def _interpreter() -> str:
    return f"{sys.version} at {sys.base_prefix}"


def _digests(*paths: str) -> Note:
    return {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in paths}


def _note(folder: Path) -> Note:
    """Return the note of a folder; empty when its installation was not finished."""
    return read_record(folder / NOTE)


def _finish(folder: Path, note: Note) -> None:
    (folder / NOTE).write_text(json.dumps(note, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
