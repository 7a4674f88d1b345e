"""The balance of each target: received = delivered + dead + discarded + waiting.

The functions count all but the last. What is open, received and not settled, must be in the queue,
and SQS only counts messages, each of up to `MAX_EVENTS` events. So events are missing where the
queue is empty and something is open, where more is open than its messages can hold, and where
something is open for longer than events live. An event may be older than its message: it waited
in the ingress queue, or was redriven. Events that were settled twice, as after a
killed function, are repeats and no loss.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bucketcast.aws.counters import Counters, HourCounts
from bucketcast.delivery.envelope import MAX_EVENTS
from bucketcast.delivery.retention import LONGEST_LIFE_DAYS

HOUR_SECONDS: Final = 3_600
FOLDED_HOURS: Final = 48
"""So many hours are kept apart; older ones that balance are added up."""
_LOOKS: Final = 3
_PAUSE_SECONDS: Final = 2.0
"""Between two looks: counts and queues are not read at the same moment."""
Messages = Callable[[str], int | None]
"""Returns how many messages the queue of a target has, in flight and delayed too.

None if there is no such queue, or if SQS does not answer.
"""


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of one target; `hours` are counted since 1970.

    `messages` are in its queue, None if that is unknown; then nothing is missing. `missing` are
    events by the hour in which they came.
    """

    arn: str
    hours: Mapping[int, HourCounts]
    messages: int | None
    missing: Mapping[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        return sum(self.missing.values())

    @property
    def waiting(self) -> int:
        """The events that should be in the queue, and may be."""
        return sum(max(each.open, 0) for each in self.hours.values()) - self.lost

    @property
    def repeated(self) -> int:
        """How often an event was counted again."""
        return sum(max(-each.open, 0) for each in self.hours.values())


def balance(
    arn: str, hours: Mapping[int, HourCounts], messages: int | None, this_hour: int
) -> Balance:
    """Return the balance of a target."""
    missing: dict[int, int] = {}
    if messages is not None:
        room = messages * MAX_EVENTS
        for hour in sorted(hours, reverse=True):  # the oldest are missing first
            number = max(hours[hour].open, 0)
            kept = min(number, room) if this_hour - hour <= 24 * LONGEST_LIFE_DAYS else 0
            room -= kept
            if number > kept:
                missing[hour] = number - kept
    return Balance(arn, hours, messages, missing)


def balances(
    counters: Counters, messages: Messages, sleep: Callable[[float], None] = time.sleep
) -> list[Balance]:
    """Return the balance of every target; what seems to be missing is looked at three times.

    Raises:
        BotoCoreError, ClientError: the table did not answer.
    """
    found = _look(counters, messages)
    for _ in range(_LOOKS - 1):
        if not any(each.missing for each in found.values()):
            break
        sleep(_PAUSE_SECONDS)
        again = _look(counters, messages)
        suspects = {arn for arn, each in found.items() if each.missing}
        found |= {arn: each for arn, each in again.items() if arn in suspects or arn not in found}
    return [found[arn] for arn in sorted(found)]


def accept(counters: Counters, found: Balance) -> int:
    """Accept missing events as lost, so that they are not reported again; return how many."""
    for hour, number in found.missing.items():
        counters.accept(found.arn, hour, number)
    return found.lost


def fold(counters: Counters, found: Balance) -> None:
    """Add old hours up that balance, or that have repeats only."""
    this_hour = int(time.time()) // HOUR_SECONDS
    for hour, counts in sorted(found.hours.items()):
        if this_hour - hour > FOLDED_HOURS and counts.open <= 0:
            counters.fold(found.arn, hour, counts)


def _look(counters: Counters, messages: Messages) -> dict[str, Balance]:
    this_hour = int(time.time()) // HOUR_SECONDS
    return {
        arn: balance(arn, hours, messages(arn), this_hour)
        for arn, hours in counters.hours().items()
    }
