"""Weeks are simulated in seconds, without their logs."""

import gc
import os
from collections.abc import Iterator

import pytest

from tests.unit.simulation.quiet import quiet


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.fixture(autouse=True, scope="module")
def _on_one_processor() -> Iterator[None]:
    """Of threads that take turns each is woken twice where another processor wakes it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[os.getpid() % len(before)]})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(autouse=True, scope="module")
def _without_what_was_imported() -> Iterator[None]:
    """Let the collector pass over modules: it would look through them for each simulation."""
    gc.freeze()
    yield
    gc.unfreeze()
