"""`docs/dependencies.md` names every library that a function or command carries."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
CARRIED = ("shared", "gateway", "server", "jobs", "spark")


WORDED = {"redis": "redis-py"}
"""How the page calls a library that has another name than its package."""


def test_each_library_is_on_the_page() -> None:
    page = (ROOT / "docs/dependencies.md").read_text("utf-8").lower().replace(".", "-")
    missing = {
        name
        for name in _carried()
        if not re.search(rf"\b{re.escape(WORDED.get(name, name))}\b", page)
    }
    assert missing == set()


def _carried() -> Iterator[str]:
    """Yield the packages that functions, the command, the gateway and the jobs are made of."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = document["dependency-groups"]
    project = document["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    for line in (each for one in [*lists, *(groups[name] for name in CARRIED)] for each in one):
        if isinstance(line, str):
            yield re.split(r"[^\w.-]", line)[0].lower().removeprefix("aws-lambda-")
