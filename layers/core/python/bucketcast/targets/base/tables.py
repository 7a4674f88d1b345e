"""What the databases share: a batch is one transaction; moments as the guard stores them."""

import abc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any, ClassVar

from bucketcast.errors import DeliveryError, Retryable
from bucketcast.event import SEQUENCER_DIGITS, Event
from bucketcast.mirror.join import Moment
from bucketcast.targets.base import C, Connected, Failures, Mirror

SWEPT = 10_000
"""How many expired rows of the guard are deleted at once, at the most."""
_SWEEP_EVERY = 3600.0


class TableTarget(Connected[C], Mirror):
    """One table, and its guard where it mirrors a bucket."""

    timeout: ClassVar[float] = 20.0
    """Seconds to wait for a server that does not finish a transaction."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._sweep_at = 0.0

    def send(self, events: Sequence[Event]) -> Failures:
        """Write the batch; where a row is refused, halve it until that row is alone.

        No transaction begins after `timeout`, or after an error that is not about a row: what is
        left then is retried. So a batch takes twice `timeout` at most, as `max_send_seconds` says.
        """
        failures: dict[int, DeliveryError] = {}
        end = time.monotonic() + self.timeout
        with self._lock:
            waiting = [list(range(len(events)))] if events else []
            while waiting:
                if time.monotonic() > end:
                    late = Retryable(f"not tried: what came before took {self.timeout:g} s")
                    return failures | dict.fromkeys(chain(*waiting), late)
                part = waiting.pop()
                try:
                    refusal = self._write([events[index] for index in part])
                except DeliveryError as error:
                    if len(part) == len(events):
                        raise
                    return failures | dict.fromkeys(chain(part, *waiting), error)
                if refusal and len(part) > 1:
                    half = len(part) // 2
                    waiting += [part[half:], part[:half]]
                elif refusal:
                    failures[part[0]] = refusal
        return failures

    @abc.abstractmethod
    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        """Write these events in one transaction; return why a row was refused, if one was.

        Raises:
            DeliveryError: none was written, for a reason that is not about a row.
        """

    @abc.abstractmethod
    def _watched(self, connection: C, seconds: float) -> AbstractContextManager[None]:
        """Hang up on a server that is not done after so many seconds."""

    @contextmanager
    def _session(self) -> Iterator[C]:
        """Lend the connection for `timeout` at most."""
        with self._connection() as connection, self._watched(connection, self.timeout):
            yield connection

    def _sweep(self, delete: Callable[[], int]) -> None:
        """Delete expired rows of the guard, hourly; while there are many, some with each batch.

        `delete` deletes up to `SWEPT` of them and returns how many there were.
        """
        if self.keeps_rows and time.monotonic() > self._sweep_at and delete() < SWEPT:
            self._sweep_at = time.monotonic() + _SWEEP_EVERY


def bare(time: str) -> str:
    """Return a time as the guard stores it, without Z: it is then compared as text."""
    return time.removesuffix("Z")


def zoned(time: str) -> str:
    """Return a time of the guard as events have it; "" for none."""
    return f"{time}Z" if time else ""


def moment_text(moment: Moment) -> str:
    """Return a moment as the guard stores it: a sequencer of 32 digits, and the time behind it."""
    return moment[0] + bare(moment[1])


def moment_of(text: str) -> Moment:
    """Return a moment of the guard."""
    return text[:SEQUENCER_DIGITS], zoned(text[SEQUENCER_DIGITS:])
