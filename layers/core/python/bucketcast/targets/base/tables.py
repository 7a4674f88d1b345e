"""The common part of the databases: a batch is one transaction; moments in the guard."""

import abc
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any, ClassVar, TypeVar

from bucketcast.errors import DeliveryError, NotAuthorized, Rejected, Retryable, TimedOut
from bucketcast.event import SEQUENCER_DIGITS, Event
from bucketcast.mirror.join import Moment
from bucketcast.mirror.registers import RegisterUpdate, fold
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.shapes.minio import path
from bucketcast.targets.base import Connected, Failures
from bucketcast.targets.base.mirror import READ_TIMEOUT_FACTOR, Mirror
from bucketcast.targets.base.sockets import LibraryConnection

LOCK_SECONDS = 3
"""A batch waits so long for rows that another session has locked; then it is written without."""

L = TypeVar("L", bound=LibraryConnection)


class TableTarget(Connected[L], Mirror):
    """One table, and its guard where it mirrors a bucket."""

    timeout: ClassVar[float] = 20.0
    """Seconds to wait for the end of a transaction."""
    reader: ClassVar[ModuleType]
    """The kind's module that reads rows and the guard."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._names: Any = None
        """The names of the table and its guard."""
        self._is_prepared = False

    def partitions(self, count: int) -> list[str]:
        with self._session() as connection:
            names = self._find(connection)
            found: list[str] = self.reader.partitions(connection, names, count) if names else []
            return found

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        with self._connection() as connection:
            limit = partial(connection.close_after, self.timeout * READ_TIMEOUT_FACTOR)
            yield from self.reader.read_rows(connection, self._names, partition, prefix, limit)

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        states: dict[str, MergedState] = {}
        with self._session() as connection:
            if names := self._find(connection):
                states = self.reader.read_states(connection, names, paths)
        return states

    def _deliver(self, events: Sequence[Event]) -> Failures:
        """Write the batch; if a row is refused, halve the batch until that row is alone.

        Rows that another session has locked are left out, and their events retried.
        No transaction begins after `timeout`, or after an error that is not about a row; the other
        events are retried. So a batch takes at most twice `timeout`, see `max_send_seconds`.
        """
        failures: dict[int, DeliveryError] = {}
        end = time.monotonic() + self.timeout
        with self._lock:
            waiting = [list(range(len(events)))] if events else []
            while waiting:
                if time.monotonic() > end:
                    too_late = Retryable(f"not tried: the events before took {self.timeout:g} s")
                    return failures | dict.fromkeys(chain(*waiting), too_late)
                part = waiting.pop()
                try:
                    refusal = self._write([events[index] for index in part])
                    locked = self._locked(events, part, refusal)
                except DeliveryError as error:
                    if len(part) == len(events):
                        raise
                    return failures | dict.fromkeys(chain(part, *waiting), error)
                if locked:
                    waits = Retryable(f"another session has locked its row for {LOCK_SECONDS} s")
                    failures |= dict.fromkeys(locked, waits)
                    waiting += filter(None, [[index for index in part if index not in locked]])
                elif refusal and len(part) > 1:
                    half = len(part) // 2
                    waiting += [part[half:], part[:half]]
                elif refusal:
                    failures[part[0]] = refusal
        return failures

    def _locked(
        self, events: Sequence[Event], part: Sequence[int], refusal: DeliveryError | None
    ) -> set[int]:
        """Return the events whose rows are locked, if that is why the part was not written.

        Raises:
            DeliveryError: it waited for something else.
        """
        if not isinstance(refusal, TimedOut):
            return set()
        keys = {index: path(events[index]) for index in part} if self.keeps_rows else {}
        locked = self._locked_keys([*keys.values()]) if keys else ()
        if not locked:
            raise refusal
        return {index for index, key in keys.items() if key in locked}

    @property
    def where(self) -> str:
        try:
            address = self._address()
        except NotAuthorized as error:
            address = f"({error})"
        return f"{address} table {self.settings.table}"

    @abc.abstractmethod
    def _address(self) -> str:
        """Return `host:port/database`, without user and password.

        Raises:
            NotAuthorized: the login cannot be read.
        """

    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        """Write these events in one transaction; return the refusal of a row, if there is one.

        That is a `TimedOut` if it waited for a lock.

        Raises:
            DeliveryError: no event was written, for a reason that is not about a row.
        """
        entries = fold(events) if self.keeps_rows else []
        if self.keeps_rows and not entries:
            return None
        with self._session() as connection:
            self._prepare_once(connection)
            try:
                return self._execute(connection, events, entries)
            except self._raised() as error:
                refusal = self._answer(error)
                if not refusal.alone:
                    raise
            try:
                connection.rollback()
            except self._raised():  # the refusal ended the connection, as MySQL's of a large packet
                self._drop()
            return refusal

    def _prepare_once(self, connection: L) -> None:
        if not self._is_prepared:
            self._prepare(connection)
            self._is_prepared = True

    @abc.abstractmethod
    def _find(self, connection: L) -> Any:
        """Return the names of the table and its guard; None if the table does not exist.

        Raises:
            DeliveryError: it is another table.
        """

    @abc.abstractmethod
    def _prepare(self, connection: L) -> None:
        """Create missing tables, and what each connection needs."""

    @abc.abstractmethod
    def _execute(
        self, connection: L, events: Sequence[Event], entries: Sequence[RegisterUpdate]
    ) -> DeliveryError | None:
        """Write the entries of a mirror, else the events, and commit; return a refusal of ours."""

    @abc.abstractmethod
    def _locked_keys(self, keys: Sequence[str]) -> Collection[str]:
        """Return those of these keys whose rows another session has locked.

        Raises:
            DeliveryError: the table is locked, or the server cannot tell.
        """

    def _delivery_error(self, error: BaseException) -> DeliveryError | None:
        reason = super()._delivery_error(error)
        # It is about the transaction, not about one event.
        return Retryable(str(reason)) if isinstance(reason, Rejected) else reason

    def _drop(self) -> None:
        super()._drop()
        self._is_prepared = False

    @contextmanager
    def _session(self, seconds: float = 0.0) -> Iterator[L]:
        """Provide the connection for at most `seconds`, by default `timeout`."""
        with self._connection() as connection, connection.close_after(seconds or self.timeout):
            yield connection


def strip_zone(time: str) -> str:
    """Return a time without Z, as the guard stores and compares it."""
    return time.removesuffix("Z")


def add_zone(time: str) -> str:
    """Return a time of the guard with Z, as events have it; "" for none."""
    return f"{time}Z" if time else ""


def format_moment(moment: Moment) -> str:
    """Return a moment as the guard stores it: a sequencer of 32 digits, then the time."""
    return moment[0] + strip_zone(moment[1])


def parse_moment(stored: str) -> Moment:
    """Parse a moment of the guard."""
    return stored[:SEQUENCER_DIGITS], add_zone(stored[SEQUENCER_DIGITS:])
