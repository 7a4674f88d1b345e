"""Weeks are simulated in seconds, without their logs."""

from collections.abc import Iterator

import pytest

from tests.unit.simulation.quiet import quiet


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    with quiet():
        yield
