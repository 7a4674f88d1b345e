"""Programs of the machine, in a certain version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def newest(name: str, *folders: str) -> str | None:
    """Return a program of the newest version: folders are glob patterns such as `/opt/tool@*`."""
    paths = [str(path) for folder in folders for path in Path("/").glob(folder.lstrip("/"))]
    paths.sort(key=lambda path: [int(part) for part in re.findall(r"\d+", path)], reverse=True)
    return shutil.which(name, path=os.pathsep.join(paths)) if paths else None


def interpreter(version: str) -> str:
    """Return a Python of a version such as `3.13`, from PATH or pyenv, or else the running one."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = pyenv.glob(f"versions/{version}.*/bin/{name}")
    for program in filter(None, (shutil.which(name), *map(str, installed))):
        # pyenv leaves stubs on PATH for versions that are not switched on.
        if subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
            return program
    return sys.executable
