"""Configurations in a folder of their own, and tables that many of them have."""

from pathlib import Path

import pytest

from bucketcast.config import load
from bucketcast.config.model import Deployment
from bucketcast.errors import ConfigErrors

HIDDEN = "hunter2"


HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'


TABLE = (
    '[notify_postgres.db]\nconnection_string = "secret:db"\ntable = "events"\n'
    "format = 'namespace'\n"
)


class Folder:
    """Loads what is written into a folder of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, text: str, *, local: bool = False, **environ: str) -> Deployment:
        file = self.path / "bucketcast.toml"
        file.write_text(text, encoding="utf-8")
        return load(file, environ, local=local)

    def problems(self, text: str, *, local: bool = False, **environ: str) -> list[str]:
        with pytest.raises(ConfigErrors) as refused:
            self.load(text, local=local, **environ)
        assert str(refused.value) == "\n".join(map(str, refused.value.errors))
        return [str(error) for error in refused.value.errors]

    def problem(self, text: str, *, local: bool = False, **environ: str) -> str:
        """Return the only problem there is."""
        (problem,) = self.problems(text, local=local, **environ)
        return problem
