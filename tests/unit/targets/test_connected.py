"""Reuse of a connection."""

import time
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from bucketcast.event import Event
from bucketcast.targets import base


class Connection:
    closed = False

    def is_usable(self) -> bool:
        return not self.closed

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

    def use(self) -> Connection:
        with self._connection() as connection:
            return connection


@pytest.fixture
def target() -> Target:
    return Target(SimpleNamespace(shape="minio", opaque_data=""))


@pytest.mark.parametrize("seconds", [-base.IDLE_SECONDS - 1, base.IDLE_SECONDS + 1])
def test_a_connection_that_was_idle_too_long_is_replaced(
    target: Target, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    first = target.use()
    assert target.use() is first
    later = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: later)
    assert target.use() is not first
    assert first.closed


def test_an_interrupted_connection_is_closed(target: Target) -> None:
    first = target.use()
    with pytest.raises(KeyboardInterrupt), target._connection():
        raise KeyboardInterrupt
    assert first.closed
    assert target.use() is not first
