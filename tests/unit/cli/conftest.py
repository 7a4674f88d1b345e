"""The command line, run in this process against a made-up deployment."""

import re
from collections.abc import Callable, Iterator

import pytest
from moto import mock_aws

from bucketcast import cli
from tests.ran import Ran
from tests.unit.fake_aws import FakeAws

Run = Callable[..., Ran]


def cells(table: str) -> list[list[str]]:
    """The filled cells of a piped table, line by line."""
    return [re.split(r"  +", line) for line in table.splitlines()]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("BUCKETCAST_STACK", raising=False)
    with mock_aws():
        yield FakeAws(("webhook", "webhook", "primary"), ("postgres", "postgresql", "main"))


@pytest.fixture
def run(aws: FakeAws, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> Ran:
        code = cli.main(words, aws=aws)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
