"""The command line, run in this process against a made-up deployment."""

import re
from collections.abc import Callable

import pytest

from bucketcast import cli
from tests.ran import Ran
from tests.unit.aws import ENTRY, MotoAws, make_bucket
from tests.unit.conftest import Deploy

Run = Callable[..., Ran]


def cells(table: str) -> list[list[str]]:
    """The filled cells of a piped table, line by line."""
    return [re.split(r"  +", line) for line in table.splitlines()]


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    """A deployed stack with two targets, and the bucket uploads attached."""
    make_bucket("uploads", QueueConfigurations=[ENTRY])
    return deploy(("webhook", "webhook", "primary"), ("postgres", "postgresql", "main"))


@pytest.fixture
def run(aws: MotoAws, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> Ran:
        code = cli.main(words, aws=lambda **_: aws)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
