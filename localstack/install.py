"""Install into the checkout what is pinned: `python -m localstack.install deploy|spark|dev`.

Three things, at the same time: the project's environment (`.venv`), the emulator's (which pins its
own botocore) and the AWS CDK from npm. Each ends with a note of what was installed, written last:
without it, or when the pinned files or the interpreter changed, the thing is made again.
Only the standard library is used here, since nothing is installed yet.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

from localstack.installers import Installers
from localstack.machine import gaps
from localstack.places import CDK, EMULATOR_VENV, INSTALLED, PROJECT_VENV, ROOT, Failure

Note = dict[str, str]
NOTE = "installed.json"
NODE_MODULES = ROOT / "node_modules"
# What satisfies what: dev contains spark, which contains deploy.
LEVELS = {"deploy": ("deploy", "spark", "dev"), "spark": ("spark", "dev"), "dev": ("dev",)}


def main() -> int:
    """Install what the level needs; say nothing when it is all there."""
    parser = argparse.ArgumentParser(prog="localstack.install", description=__doc__.split("\n")[0])
    parser.add_argument("level", choices=LEVELS)
    try:
        install(parser.parse_args().level)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: run it again, it starts over where needed", file=sys.stderr)
        return 130
    return 0


def install(level: str) -> None:
    """Bring the three environments up to the pinned files, or raise Failure."""
    if missing := gaps():
        raise Failure("missing on this machine:\n" + "\n".join(f"  - {line}" for line in missing))
    INSTALLED.mkdir(exist_ok=True)
    with Installers() as installers:
        if not any(_note(PROJECT_VENV) == _project_note(one) for one in LEVELS[level]):
            installers.begin(lambda: _project(installers, level))
        if _note(EMULATOR_VENV) != _emulator_note():
            installers.begin(lambda: _emulator(installers))
        if not CDK.exists() or _note(NODE_MODULES) != _cdk_note():
            installers.begin(lambda: _cdk(installers))


def _project(installers: Installers, level: str) -> None:
    wanted = _project_note(level)
    # Only a finished environment of the same interpreter is worth adding to.
    if _note(PROJECT_VENV).get("python") != wanted["python"]:
        _new_venv(installers, PROJECT_VENV)
    (PROJECT_VENV / NOTE).unlink(missing_ok=True)
    pip = [str(PROJECT_VENV / "bin" / "python"), "-m", "pip", "install", "--no-compile"]
    pinned = ["--require-hashes", "-r", f"requirements/{level}.txt"]
    installers.run(f"the project's environment ({level})", [*pip, *pinned])
    # The build backend is pinned with the rest, so nothing is fetched for the build.
    installers.run(
        "bucketcast itself", [*pip, "--no-deps", "--no-build-isolation", "-e", "."], quiet=True
    )
    _finish(PROJECT_VENV, wanted)


def _emulator(installers: Installers) -> None:
    _new_venv(installers, EMULATOR_VENV)
    pip = [str(EMULATOR_VENV / "bin" / "python"), "-m", "pip", "install"]
    pinned = ["--require-hashes", "-r", "localstack/requirements.txt"]
    installers.run("the emulator's environment", [*pip, *pinned])
    _finish(EMULATOR_VENV, _emulator_note())


def _cdk(installers: Installers) -> None:
    (NODE_MODULES / NOTE).unlink(missing_ok=True)
    installers.run("the AWS CDK", ["npm", "ci", "--no-fund", "--no-audit", "--loglevel=error"])
    _finish(NODE_MODULES, _cdk_note())


def _new_venv(installers: Installers, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    installers.run(
        str(folder.relative_to(ROOT)), [sys.executable, "-m", "venv", str(folder)], quiet=True
    )


def _project_note(level: str) -> Note:
    return {"python": _interpreter(), "level": level} | _digests(
        f"requirements/{level}.txt", "pyproject.toml"
    )


def _emulator_note() -> Note:
    return {"python": _interpreter()} | _digests("localstack/requirements.txt")


def _cdk_note() -> Note:
    return _digests("package-lock.json")


def _interpreter() -> str:
    return f"{sys.version} at {sys.base_prefix}"


def _digests(*paths: str) -> Note:
    return {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in paths}


def _note(folder: Path) -> Note:
    """Return what was installed there, or nothing when it was not finished."""
    try:
        note = json.loads((folder / NOTE).read_text())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _finish(folder: Path, note: Note) -> None:
    (folder / NOTE).write_text(json.dumps(note, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
