"""Programs of the machine, in the version that is wanted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


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
    for found in filter(None, (shutil.which(name), *map(str, of_pyenv))):
        # pyenv leaves stubs on PATH for versions that are not switched on.
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return sys.executable
