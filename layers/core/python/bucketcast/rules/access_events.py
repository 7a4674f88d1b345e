"""Access events: the calls that CloudTrail must log for the rules of a bucket.

S3 sends no notifications for reads, nor for changes of a bucket itself. CloudTrail logs both, but
its data events cost money: so a trail's selectors name only the operations and prefixes that rules
need (`trail_selectors`). These functions do not call AWS.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bucketcast.event.names import expand
from bucketcast.rules import Rule
from bucketcast.sources.cloudtrail import OBJECT_CALLS

PRICE: Final = "$1.00 per million calls logged, found or not"
CALLS: Final = MappingProxyType(
    {call: name for call, name in OBJECT_CALLS.items() if call != "PutObjectRetention"}
)
"""The event's name by the API call, but for what S3 notifies of by itself."""
_MOST_PREFIXES: Final = 50
"""Of a bucket: a trail takes 500 values in all its selectors."""
_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class AccessCalls:
    """What the rules of a bucket ask for: S3's API calls, and prefixes of keys ("" is any)."""

    calls: tuple[str, ...]
    prefixes: tuple[str, ...]

    @property
    def whole(self) -> "AccessCalls":
        """The same calls, of every key of the bucket."""
        return AccessCalls(self.calls, ("",))

    def covers(self, other: "AccessCalls") -> bool:
        """Return whether all that the other asks for is in this."""
        return set(other.calls) <= set(self.calls) and all(
            prefix.startswith(self.prefixes) for prefix in other.prefixes
        )


def required_calls(rules: Iterable[Rule]) -> AccessCalls:
    """Return the calls that have to be logged for these rules, and for which keys."""
    calls: set[str] = set()
    prefixes: set[str] = set()
    for rule in rules:
        names = {name for given in rule.events for name in expand(given)}
        wanted = {call for call, name in CALLS.items() if name in names}
        if wanted:
            calls |= wanted
            prefixes.add(_WILD.split(rule.prefix, maxsplit=1)[0])
    few = [one for one in sorted(prefixes) if not one.startswith(tuple(prefixes - {one}))]
    return AccessCalls(tuple(sorted(calls)), tuple(few) if len(few) <= _MOST_PREFIXES else ("",))


def is_logged_only(events: Iterable[str]) -> bool:
    """Return whether all of these events come from CloudTrail alone."""
    return {single for given in events for single in expand(given)} <= set(CALLS.values())
