"""The real `mc`, as a user runs it, with an alias `local` that leads to the gateway."""

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.command_result import CommandResult
from tests.e2e.system import System
from tests.servers.machine import MissingProgramError

SECONDS = 180.0
_PROGRAM = Path(__file__).parents[2] / ".local" / "servers" / "mc" / "mc"


class Mc:
    """Runs it with a folder of its own for what it keeps."""

    def __init__(self, system: System, folder: Path) -> None:
        # Another program is called so too: that of the distribution would not do.
        if not _PROGRAM.exists():
            raise MissingProgramError("mc")
        self._program = str(_PROGRAM)
        where = system.environment
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MC_CONFIG_DIR": str(folder),
            "MC_DISABLE_PAGER": "1",
        }
        folder.mkdir(parents=True, exist_ok=True)
        names = ("BUCKETCAST_URL", "BUCKETCAST_ACCESS_KEY", "BUCKETCAST_SECRET_KEY")
        self.alias = self("alias", "set", "local", *(where[name] for name in names))

    def __call__(self, *words: str) -> str:
        """Run a command that is to succeed; what it printed."""
        ran = self.run(*words)
        assert ran.code == 0, f"mc {' '.join(words)} ended with {ran.code}\n{ran.out}{ran.err}"
        return ran.out

    def run(self, *words: str) -> CommandResult:
        """Run any command."""
        answer = subprocess.run(
            [self._program, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return CommandResult(answer.returncode, answer.stdout, answer.stderr)

    def popen(self, *words: str, **how: Any) -> "subprocess.Popen[str]":
        """Start one that goes on until it is ended."""
        return subprocess.Popen([self._program, *words], env=self._environment, text=True, **how)
