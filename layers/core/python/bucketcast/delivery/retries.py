"""Retries: when a failed message is tried again, and when it is given up, in ingest and dispatch.

A message is retried for `TERM_DAYS`, then its function dead-letters it. SQS must not be faster,
neither by dropping it after `RETENTION_DAYS` nor by moving it after `MAX_RECEIVES`: before either,
a successor with a new date and count replaces it. In a FIFO queue a successor would be last: there
the receives are spaced out instead.
"""

import random
from typing import NamedTuple

from bucketcast.delivery.retention import DAY_MS, MAX_RECEIVES, RETENTION_DAYS, TERM_DAYS

TERM_MS = TERM_DAYS * DAY_MS
LONGEST_PAUSE = 1_200
"""Seconds; also the most that a target can ask for."""
RENEW_AFTER = MAX_RECEIVES // 2
"""After so many receives a message is sent again: as many are left for a function that crashes."""
VISIBILITY = 15
"""Seconds after which what a killed function had is seen again."""
_VISIBLE_AT_MOST = 300
_LAST_CALL_MS = (TERM_DAYS + RETENTION_DAYS) * DAY_MS // 2
"""Half of the day between the end of the term and SQS' dropping a message that began it."""
NO_ANSWER = "no try came to an end: the function ended before it could say why"
_LAST_RECEIVES = 3
"""How often a message is given to a function that has never yet said what became of it, once its
term is over."""


class Term(NamedTuple):
    """How long, and how often, a message has been tried; `now`, `sent` and `since` are Unix ms.

    `sent` and `receives` come from SQS. A successor carries `since`, when the first of its
    predecessors was tried, `attempts`, how often they were received, and `failed`, whether a
    failure is known.
    """

    now: int
    sent: int
    receives: int
    since: int = 0
    attempts: int = 0
    failed: bool = False

    @property
    def started(self) -> int:
        """When the term began: with this message, or with the one it is a successor of.

        A successor is sent before SQS would drop its predecessor. One that was sent later was
        redriven from the dead letters.
        """
        sequel = self.attempts and self.sent - self.since <= RETENTION_DAYS * DAY_MS
        return self.since if sequel else self.sent

    @property
    def tries(self) -> int:
        return self.attempts + self.receives

    @property
    def expired(self) -> bool:
        """Whether the message is given up if it fails now."""
        return self.now - self.started > TERM_MS

    @property
    def should_give_up(self) -> bool:
        """Whether to dead-letter the message without another try.

        True if a failure is known, or if half a day later so many attempts did not end that the
        function must be crashing. A message that was never tried is tried first.
        """
        late = self.now - self.started > _LAST_CALL_MS
        crashing = late and self.attempts >= RENEW_AFTER and self.receives > _LAST_RECEIVES
        return self.expired and (self.failed or crashing)

    @property
    def needs_renewal(self) -> bool:
        """Whether SQS would soon move or drop the message."""
        return self.receives >= RENEW_AFTER or self.expires_soon

    @property
    def expires_soon(self) -> bool:
        """Whether SQS drops the message within half a day."""
        return self.now - self.sent > _LAST_CALL_MS

    @property
    def carried_attempts(self) -> int:
        """The `attempts` of a successor.

        A message that only grew old, untried, carries none: its term begins with its first try.
        """
        return self.tries if self.receives >= RENEW_AFTER else self.attempts

    @property
    def spacing(self) -> int:
        """The seconds between receives that make the remaining ones last for the term."""
        if self.receives < RENEW_AFTER:
            return 0
        left = max(0, TERM_MS + DAY_MS // 2 - (self.now - self.started)) // 1_000
        return min(left // max(1, MAX_RECEIVES - self.receives - 1), 12 * 3_600)

    @property
    def visibility(self) -> int:
        """The seconds after which the message is visible again if the function is killed now.

        They double with every receive: it may be the message that crashes the function.
        """
        doubled = 1 << min(max(self.receives - 1, 0), 16)
        return max(min(max(doubled, VISIBILITY), _VISIBLE_AT_MOST), self.spacing)

    def __str__(self) -> str:
        days = (self.now - self.started) / DAY_MS
        return f"given up after {int(days)} days and {self.tries} tries"


def pause(tries: int, after: float = 0.0) -> int:
    """Return the seconds until the next try: 1, 2, 4 … 20 minutes, minus up to a half.

    At least the `after` that the target asked for, plus up to a quarter. The jitter keeps messages
    that failed together from being retried together.
    """
    grown = min(2.0 ** min(max(tries, 1) - 1, 11), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - spread, not secrecy
    wanted = max(after, 0.0) * random.uniform(1, 1.25)  # noqa: S311
    return round(min(max(grown, wanted, 1), LONGEST_PAUSE))
