"""When a kept connection is used again."""

import time
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from bucketcast.event import Event
from bucketcast.targets import base


class Connection:
    closed = False

    def close(self) -> None:
        self.closed = True


class Target(base.Connected[Connection]):
    where = "nowhere"

    def send(self, events: Sequence[Event]) -> base.Failures:
        raise NotImplementedError

    def probe(self) -> None:
        raise NotImplementedError

    def _connect(self) -> Connection:
        return Connection()

    def used(self) -> Connection:
        with self._connection() as connection:
            return connection


@pytest.fixture
def target() -> Target:
    return Target(SimpleNamespace(shape="minio", opaque_data=""))


@pytest.mark.parametrize("seconds", [-base.IDLE_SECONDS - 1, base.IDLE_SECONDS + 1])
def test_a_connection_that_was_idle_for_long_is_replaced(
    target: Target, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    first = target.used()
    assert target.used() is first
    later = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: later)
    assert target.used() is not first
    assert first.closed


def test_a_connection_is_dropped_by_whatever_interrupts_its_use(target: Target) -> None:
    first = target.used()
    with pytest.raises(KeyboardInterrupt), target._connection():
        raise KeyboardInterrupt
    assert first.closed
    assert target.used() is not first
