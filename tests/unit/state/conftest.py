"""What the parts of the state table are tried with."""

import time
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the monotonic clock, which pass only as a test says."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def repeat(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let an operation lose its first answer, so that the client repeats the call."""

    def repeat(operation: str) -> None:
        call = getattr(dynamodb, operation)

        def twice(**given: Any) -> Any:
            call(**given)
            return call(**given)

        monkeypatch.setattr(dynamodb, operation, twice)

    return repeat
