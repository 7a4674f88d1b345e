"""Tests that deploy a stack of their own, so that they can run beside those that share one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.deployment import Local


@pytest.fixture
def alone(servers_folder: Path, request: pytest.FixtureRequest) -> Iterator[Local]:
    """A local AWS that is not started yet."""
    local = Local(servers_folder / request.path.stem)
    yield local
    local.stop()
