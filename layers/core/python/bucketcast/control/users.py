"""Who may call, and how the gate asks for them without asking AWS for every request."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MAX_AGE_SECONDS: Final = 5.0
"""So long a user that was removed may still be let in."""
_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True)
class User:
    """One who may call; `tenant` owns what the user makes, `admin` may change the deployment."""

    name: str
    tenant: str
    access_key: str
    admin: bool


@dataclass(frozen=True, slots=True)
class Account:
    """A user with the secret that its requests are signed with; never shown."""

    user: User
    secret: str = field(repr=False)


class Known:
    """The accounts by access key, each kept for a few seconds; unknown ones are kept too."""

    def __init__(
        self,
        find: Callable[[str], Account | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find = find
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Account | None]] = OrderedDict()

    async def __call__(self, access_key: str) -> Account | None:
        kept = self._kept.get(access_key)
        if kept and self._clock() - kept[0] < MAX_AGE_SECONDS:
            return kept[1]
        found = await asyncio.to_thread(self._find, access_key)
        self._kept[access_key] = (self._clock(), found)
        self._kept.move_to_end(access_key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
