"""The version that the webhook target sends."""

import tomllib
from pathlib import Path

from bucketcast import __version__


def test_the_version_that_is_sent_is_the_packages() -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == __version__
