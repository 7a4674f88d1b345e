"""What the machine must have, and how to get it. Every gap is named at once.

The interpreter itself is checked by the Makefile: an old one could not read this file.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NODE_FLOOR = 20
NODE_HINT = "https://nodejs.org, or your system's package manager"
VENV_HINT = "on Debian and Ubuntu: apt install python3-venv"


def gaps() -> list[str]:
    """Return one line for each thing that is missing: what it is and where it comes from."""
    found = [
        f"Python's {module} module: {VENV_HINT}"
        for module in ("venv", "ensurepip")
        if importlib.util.find_spec(module) is None
    ]
    found += _node_gaps()
    if shutil.which("git") is None:
        found.append("git: https://git-scm.com, or your system's package manager")
    return found


def newest(name: str, *folders: str) -> str | None:
    """Return a program of the newest version: folders are glob patterns such as `/opt/tool@*`."""
    found = [str(each) for folder in folders for each in Path("/").glob(folder.lstrip("/"))]
    found.sort(key=lambda folder: [int(part) for part in re.findall(r"\d+", folder)], reverse=True)
    return shutil.which(name, path=os.pathsep.join(found)) if found else None


def interpreter(version: str) -> str:
    """Return a Python of a version such as `3.13`, from PATH or pyenv, or else the running one."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    of_pyenv = pyenv.glob(f"versions/{version}.*/bin/{name}")
    for found in [shutil.which(name), *map(str, of_pyenv)]:
        # pyenv leaves stubs on PATH for versions that are not switched on.
        if (
            found
            and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
        ):
            return found
    return sys.executable


def _node_gaps() -> list[str]:
    node = shutil.which("node")
    if node is None:
        return [f"Node.js {NODE_FLOOR} or newer (the AWS CDK runs on it): {NODE_HINT}"]
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"v(\d+)\.", answer.stdout)
    if match is None or int(match.group(1)) < NODE_FLOOR:
        version = answer.stdout.strip() or "unknown"
        return [f"Node.js {NODE_FLOOR} or newer: {node} is {version}: {NODE_HINT}"]
    if shutil.which("npm") is None:
        return [f"npm, which comes with Node.js: {NODE_HINT}"]
    return []
