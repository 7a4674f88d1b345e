"""When what failed is tried again, and when no more: what ingest and dispatch have in common.

A message is tried for `TERM_DAYS`, then its function buries it. SQS must not be quicker, neither by
dropping it after `RETENTION_DAYS` nor by moving it after `MAX_RECEIVES`: before either, it is sent
again as a new message, which has a new count and a new date, and the old one goes. In a FIFO queue
that would put it behind the others: there its receives are spaced out instead.
"""

import random
from typing import NamedTuple

from bucketcast.lifetime import DAY_MS, MAX_RECEIVES, RETENTION_DAYS, TERM_DAYS

TERM_MS = TERM_DAYS * DAY_MS
LONGEST_PAUSE = 1_200
"""Seconds; also the most that a target can ask for."""
WORN = MAX_RECEIVES // 2
"""After so many receives a message is sent again: as many are left for a function that crashes."""
VISIBLE_AGAIN = 15
"""Seconds after which what a killed function had is seen again."""
_VISIBLE_AT_MOST = 300
_LAST_CALL_MS = (TERM_DAYS + RETENTION_DAYS) * DAY_MS // 2
"""Half of the day between the end of the term and SQS' dropping a message that began it."""
_LAST_RECEIVES = 3
"""How often a message is given to a function that has never yet said what became of it, once its
term is over."""


class Term(NamedTuple):
    """For how long, and how often, a message has been tried; `now`, `sent` and `since` are Unix ms.

    `sent` and `receives` are SQS' own words on the message; `since`, `attempts` and `told` are what
    it has behind it: when it was first tried, how often older messages of it were received, and
    whether anybody knows of a try that failed.
    """

    now: int
    sent: int
    receives: int
    since: int = 0
    attempts: int = 0
    told: bool = False

    @property
    def begun(self) -> int:
        """When the term began: with this message, unless it is the sequel of another.

        A sequel is sent before SQS would drop its first message. What was sent later has lain among
        the dead letters.
        """
        sequel = self.attempts and self.sent - self.since <= RETENTION_DAYS * DAY_MS
        return self.since if sequel else self.sent

    @property
    def tries(self) -> int:
        return self.attempts + self.receives

    @property
    def over(self) -> bool:
        """Whether it is not to be kept if it fails now."""
        return self.now - self.begun > TERM_MS

    @property
    def hopeless(self) -> bool:
        """Whether it is to be buried without another try.

        It is where a try is known to have failed, or where so many came to no end, half a day later
        still, that the function must be crashing over it. What nobody ever tried has a turn first.
        """
        late = self.now - self.begun > _LAST_CALL_MS
        crashing = late and self.attempts >= WORN and self.receives > _LAST_RECEIVES
        return self.over and (self.told or crashing)

    @property
    def worn(self) -> bool:
        """Whether SQS would soon move the message, or drop it."""
        return self.receives >= WORN or self.last_call

    @property
    def last_call(self) -> bool:
        """Whether SQS drops the message within half a day."""
        return self.now - self.sent > _LAST_CALL_MS

    @property
    def carried(self) -> int:
        """The `attempts` of the message that follows a worn one.

        What only grew old without a turn has none: its term begins with its first try.
        """
        return self.tries if self.receives >= WORN else self.attempts

    @property
    def spacing(self) -> int:
        """Seconds between two receives that make the rest of them last for the rest of the term."""
        if self.receives < WORN:
            return 0
        left = max(0, TERM_MS + DAY_MS // 2 - (self.now - self.begun)) // 1_000
        return min(left // max(1, MAX_RECEIVES - self.receives - 1), 12 * 3_600)

    @property
    def visible_again(self) -> int:
        """Seconds after which it is seen again if the function is killed now.

        They double with every receive: it may be the message that the function dies of.
        """
        doubled = 1 << min(max(self.receives - 1, 0), 16)
        return max(min(max(doubled, VISIBLE_AGAIN), _VISIBLE_AT_MOST), self.spacing)

    def __str__(self) -> str:
        days = (self.now - self.begun) / DAY_MS
        return f"given up after {int(days)} days and {self.tries} tries"


def pause(tries: int, after: float = 0.0) -> int:
    """Seconds until the next try: 1, 2, 4 … 20 minutes, less up to a half.

    It is not less than the `after` that the target asked for, and up to a quarter more. The spread
    keeps messages that failed together from coming back together.
    """
    grown = min(2.0 ** min(max(tries, 1) - 1, 11), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - spread, not secrecy
    asked = max(after, 0.0) * random.uniform(1, 1.25)  # noqa: S311
    return round(min(max(grown, asked, 1), LONGEST_PAUSE))
