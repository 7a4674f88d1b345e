"""The interface of a target that can mirror a bucket: rows to read, and tombstones to sweep.

An event that happened before `limits.LONGEST_LIFE_DAYS` is rejected, whenever it arrives: the
tombstone of a later removal may have expired, and the row would come back. An event from a listing
is as old as that.

Expired tombstones are deleted after a batch is written: hourly, and after each batch while there
are many. What goes wrong then is logged, and is no failure of the batch.
"""

import abc
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.limits import LONGEST_LIFE_DAYS
from bucketcast.mirror.registers import moves
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.targets.base import Failures, Target
from bucketcast.telemetry import logger

READ_TIMEOUT_FACTOR = 10
"""Reading rows may take this many times the time-out of a batch."""
SWEEP_LIMIT = 1_000
"""Tombstones that are deleted at once; fewer after a deletion that failed."""
SWEEP_SECONDS = 2.0
"""Time limit of a deletion: a function has `limits.SETTLE_SECONDS` after its last batch."""
SWEEP_EVERY = 3600.0
"""Seconds between two deletions, if the last one left nothing or failed."""


class Mirror(Target):
    """A kind that can keep a readable row per object (`format = "namespace"`).

    Call `partitions`, `stored_rows` and `merged_states` in that format only. They create nothing: a
    missing table has no rows. Do not use the target for anything else while `stored_rows` is
    iterated.
    """

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._sweep_at = 0.0
        self._sweep_limit = SWEEP_LIMIT

    def send(self, events: Sequence[Event]) -> Failures:
        if not self.keeps_rows:
            return self._deliver(events)
        old = _too_old(events)
        kept: Sequence[int] = range(len(events))
        if old:
            kept = [index for index in kept if index not in old]
        if not kept:
            return old
        failures = self._deliver([events[index] for index in kept] if old else events)
        if time.monotonic() > self._sweep_at and len(failures) < len(kept):  # the server is there
            self._sweep_or_log()
        return old | {kept[index]: error for index, error in failures.items()}

    @property
    def keeps_rows(self) -> bool:
        return str(self.settings.format) == "namespace"

    @property
    def first_alone(self) -> bool:
        return not self.keeps_rows  # writing a row twice changes nothing

    @abc.abstractmethod
    def partitions(self, count: int) -> list[str]:
        """Return about `count` partitions that cover all rows and can be read in parallel.

        Each is a string that another process can pass to `stored_rows`. A row that is written
        during the reading may be in none of them, or in two.

        Raises:
            DeliveryError: the target cannot be queried.
        """

    @abc.abstractmethod
    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        """Yield the rows of a partition whose path begins with `prefix`, in the server's order.

        Raises:
            DeliveryError: the target cannot be queried, or stopped answering.
        """

    @abc.abstractmethod
    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        """Return the current states of up to 500 paths; those without any state are left out.

        Raises:
            DeliveryError: the target cannot be queried.
        """

    @abc.abstractmethod
    def _deliver(self, events: Sequence[Event]) -> Failures:
        """Do what `send` promises."""

    @abc.abstractmethod
    def _sweep(self, limit: int) -> int:
        """Delete up to `limit` expired tombstones, within `SWEEP_SECONDS`; return their number.

        Raises:
            DeliveryError: the server did not do it in that time.
        """

    def _sweep_or_log(self) -> None:
        try:
            deleted = self._sweep(self._sweep_limit)
        except DeliveryError as error:
            logger.warning("expired tombstones stay for now", target=self.where, reason=str(error))
            self._sweep_limit = max(1, self._sweep_limit // 2)
            self._sweep_at = time.monotonic() + SWEEP_EVERY
            return
        if deleted < self._sweep_limit:
            self._sweep_at = time.monotonic() + SWEEP_EVERY
        self._sweep_limit = min(SWEEP_LIMIT, self._sweep_limit * 2)


_time, _listed = attrgetter("time"), attrgetter("listed")


def _too_old(events: Sequence[Event]) -> dict[int, DeliveryError]:
    """Return the refusals of events that are older than a mirror takes."""
    oldest = f"{datetime.now(UTC) - timedelta(days=LONGEST_LIFE_DAYS):%Y-%m-%dT%H:%M:%S}"
    # An event has a time of its own, and one from a listing that of the listing.
    if min(map(_time, events), default=oldest) >= oldest and not any(map(_listed, events)):
        return {}
    return {
        index: Rejected.anywhere(
            f"it is of {event.listed or event.time}, and a mirror takes nothing older than "
            f"{LONGEST_LIFE_DAYS} days: bucketcast reconcile finds and repairs what is missing"
        )
        for index, event in enumerate(events)
        if (event.listed or event.time) < oldest and moves(event)
    }
