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
"""Event names by API call, without those that S3 sends notifications of."""
_MOST_PREFIXES: Final = 50
"""Limit of a bucket: a trail takes 500 values in all its selectors."""
_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class AccessCalls:
    """The S3 API calls to log for a bucket, and the prefixes of their keys ("" is any)."""

    calls: tuple[str, ...]
    prefixes: tuple[str, ...]

    @property
    def all_keys(self) -> "AccessCalls":
        """The same calls for every key of the bucket."""
        return AccessCalls(self.calls, ("",))

    def covers(self, other: "AccessCalls") -> bool:
        """Return True if this includes all calls and keys of `other`."""
        return set(other.calls) <= set(self.calls) and all(
            prefix.startswith(self.prefixes) for prefix in other.prefixes
        )


def required_calls(rules: Iterable[Rule]) -> AccessCalls:
    """Return the calls and keys that CloudTrail must log for these rules."""
    calls: set[str] = set()
    prefixes: set[str] = set()
    for rule in rules:
        names = {name for family in rule.events for name in expand(family)}
        logged = {call for call, name in CALLS.items() if name in names}
        if logged:
            calls |= logged
            prefixes.add(_WILD.split(rule.prefix, maxsplit=1)[0])
    shortest = [
        prefix for prefix in sorted(prefixes) if not prefix.startswith(tuple(prefixes - {prefix}))
    ]
    return AccessCalls(
        tuple(sorted(calls)), tuple(shortest) if len(shortest) <= _MOST_PREFIXES else ("",)
    )


def is_logged_only(events: Iterable[str]) -> bool:
    """Return True if all of these events come from CloudTrail only."""
    return {name for family in events for name in expand(family)} <= set(CALLS.values())
