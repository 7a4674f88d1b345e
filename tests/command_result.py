"""How a command ended, for all tests that run one."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    def said(self, code: int) -> str:
        """Return the standard error of a command that is to have ended with this code."""
        assert self.code == code, self.out + self.err
        return self.err
