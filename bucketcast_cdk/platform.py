"""The platforms of the code: Lambda's arm64, Glue's x86_64, locally the running interpreter."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Wheels for glibc systems carry the oldest glibc they need as tag, and pip takes them literally.
_WHEEL_TAGS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True, slots=True)
class Platform:
    """A Python version (`3.13`) on a machine (`aarch64` | `x86_64`), as Linux names them."""

    python: str
    machine: str
    here: bool  # the functions run on this machine, with this interpreter

    @property
    def pip_options(self) -> tuple[str, ...]:
        """The options by which pip chooses wheels of this platform."""
        if self.here:
            return ()
        tags = [f"--platform={tag}_{self.machine}" for tag in _WHEEL_TAGS]
        return (*tags, f"--python-version={self.python}", "--implementation=cp")

    @property
    def markers(self) -> dict[str, str]:
        """The values of environment markers on this platform."""
        if self.here:
            return {}
        return {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }

    def interpreter(self) -> str | None:
        """Return an interpreter on this machine whose bytecode the functions can read."""
        if self.here or self.python == local_platform().python:
            return sys.executable
        # A version manager leaves stubs on PATH for versions that are not switched on.
        return next((each for each in _installed(self.python) if _runs(each)), None)


def _installed(version: str) -> Iterator[str]:
    """Yield the programs of a Python version on PATH, and those of pyenv and uv."""
    name, home = f"python{version}", Path.home()
    yield from filter(None, [shutil.which(name)])
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or home / ".local/share/uv/python")
    for folder, pattern in ((pyenv, f"versions/{version}.*"), (uv, f"cpython-{version}.*")):
        yield from map(str, sorted(folder.glob(f"{pattern}/bin/{name}")))


def _runs(program: str) -> bool:
    done = subprocess.run([program, "-c", ""], capture_output=True, check=False)  # noqa: S603
    return not done.returncode


_GLUE_PYTHON: Final = {"6.0": "3.13", "5.1": "3.11"}
LAMBDA: Final = Platform(python="3.13", machine="aarch64", here=False)


def glue_platform(version: str) -> Platform:
    """Return the platform of the jobs of a Glue version."""
    return Platform(python=_GLUE_PYTHON[version], machine="x86_64", here=False)


def local_platform() -> Platform:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Platform(python=version, machine=platform.machine(), here=True)
