"""`examples/consume.py`, its help and the targets' pages."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bucketcast import targets
from examples import consume
from tests.reference import page

BARE = [sys.executable, "-I", "-S", str(Path(consume.__file__))]
"""A Python in which nothing is installed."""


def manual(reader: Callable[..., None]) -> list[str]:
    return [line.strip() for line in (inspect.getdoc(reader) or "").splitlines()]


def test_each_kind_has_a_reader() -> None:
    assert {reader.__name__ for reader in consume.READERS} == set(targets.kinds())


@pytest.mark.parametrize("reader", consume.READERS)
def test_page_has_the_commands_of_the_help(reader: Callable[..., None]) -> None:
    commands = [
        line for line in manual(reader) if line.startswith(("export ", ".venv/bin/python "))
    ]
    assert "\n".join(["```sh", *commands, "```"]) in page(reader.__name__)


@pytest.mark.parametrize("reader", consume.READERS)
def test_missing_client_is_reported(reader: Callable[..., None]) -> None:
    install = [line for line in manual(reader) if line.startswith(".venv/bin/pip install ")]
    required = [
        f"--{name}=user:password@tcp(localhost:1)/x"
        for name, option in inspect.signature(reader).parameters.items()
        if option.default is option.empty
    ]
    command = [*BARE, reader.__name__, *required]
    if install:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert result.returncode == 1
        assert install[0] in result.stderr


def test_kafka_without_a_broker_is_one_error() -> None:
    command = [sys.executable, consume.__file__, "kafka", "--brokers=127.0.0.1:9", "--topic=x"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    first, second = result.stderr.splitlines()
    assert first == "waiting for events of x"
    assert second.startswith("cannot read from kafka: ")
