r"""Conditions of a rule on events, beyond the event name and the key's prefix and suffix.

::

    Condition(on="tag:class", values=("public", "open"))                one of these
    Condition(on="key", how="regex", values=(r"photos/\d+/.*",))        the whole key
    Condition(on="size", how="range", values=("1MiB-",))                1 MiB and more
    Condition(on="source_ip", how="cidr", values=("10.0.0.0/8",), unless=True)

`S3Key`'s regex, `S3Metadata` and `S3Tags` are Ceph's ("Bucket Notifications", filtering by
metadata, tags and regular expression); the rest goes beyond it. Ingest fetches the object's
metadata, tags and content type when a rule needs them. They are unknown once the object is deleted:
a condition on them then holds, so that no event is lost.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Flag, auto
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bucketcast.errors import did_you_mean
from bucketcast.event import Event
from bucketcast.event.encoded_words import decode
from bucketcast.limits import MOST_REGEX_CHARACTERS
from bucketcast.rules.regexes import RegexSet

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

How = Literal["equals", "prefix", "suffix", "regex", "range", "cidr"]
Test = Callable[[Any], bool]

METADATA, TAG = "metadata:", "tag:"
PLAIN = ("key", "size", "storage_class", "principal", "source_ip", "content_type")
_TEXT = ("equals", "prefix", "suffix", "regex")
_HOWS: dict[str, tuple[str, ...]] = {"size": ("range",), "source_ip": ("equals", "cidr")}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"([0-9]{1,18})\s*([kmgt]i?)?b?", re.IGNORECASE)


class Fact(Flag):
    """A request to S3 for facts about an object: `HeadObject`, `GetObjectTagging`."""

    HEAD = auto()
    TAGS = auto()


NOTHING = Fact(0)
FACTS: Mapping[str, Fact] = {"metadata": Fact.HEAD, "tags": Fact.TAGS}
"""Facts that a target may request, by their names in its configuration."""


def facts_of(names: Iterable[str]) -> Fact:
    """Return the facts with these names."""
    return reduce(or_, (FACTS[name] for name in names), NOTHING)


class Condition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A condition that holds if any of `values` matches, or with `unless` if none does.

    `on` is one of `key`, `size`, `storage_class`, `principal`, `source_ip`, `content_type`,
    `metadata:NAME` and `tag:NAME`; a metadata name is in lower case, with its `x-amz-meta-`.
    """

    on: str
    values: tuple[str, ...]
    how: How = "equals"
    unless: bool = False

    def __str__(self) -> str:
        words = " or ".join(map(repr, self.values))
        return f"{'not ' if self.unless else ''}{self.on} {_VERBS[self.how]} {words}"

    @property
    def needs_object(self) -> bool:
        """True if checking it needs facts about the object that S3's notifications lack."""
        return self.on.startswith((METADATA, TAG)) or self.on in ("content_type", "storage_class")

    def unknown_facts(self, event: Event) -> Fact:
        """Return the facts to fetch before the condition can be checked."""
        if self.on.startswith(METADATA):
            return NOTHING if event.metadata is not None else Fact.HEAD
        if self.on.startswith(TAG):
            return NOTHING if event.tags is not None else Fact.TAGS
        if self.on in ("size", "content_type", "storage_class"):
            return NOTHING if getattr(event, self.on) is not None else Fact.HEAD
        return NOTHING

    def holds(self, event: Event, test: Test | None = None) -> bool:
        """Return True if the event meets the condition, or needed facts are unknown.

        `test` is its test, where that is kept.
        """
        if self.unknown_facts(event):
            return True
        return any(map(test or test_of(self), self._values(event))) is not self.unless

    def failure(self, event: Event) -> str | None:
        """Return the reason why the event does not meet the condition; None if it does."""
        if self.holds(event):
            return None
        values = self._values(event)
        shown = " and ".join(map(repr, values)) if values else "missing"
        return f"{self.on} is {shown}; the rule asks for {self}"

    def _values(self, event: Event) -> list[Any]:
        """Return the event's values to check: none, one, or those of several tags of one name."""
        if self.on.startswith(METADATA):
            value = (event.metadata or {}).get(self.on.removeprefix(METADATA))
            # S3 clients send metadata beyond ASCII as encoded words.
            return [] if value is None else list(dict.fromkeys((value, decode(value))))
        if self.on.startswith(TAG):
            name = self.on.removeprefix(TAG)
            return [value for tag, value in event.tags or () if tag == name]
        value = getattr(event, self.on)
        return [] if value in (None, "") and self.on != "key" else [value]


_VERBS: Mapping[How, str] = {
    "equals": "is",
    "prefix": "begins with",
    "suffix": "ends with",
    "regex": "matches the regular expression",
    "range": "is in",
    "cidr": "is in",
}


def check(condition: Condition) -> None:
    """Check that the condition is valid.

    Raises:
        ValueError: it is not; the text names the value and the allowed ones.
    """
    on = condition.on
    named = on.startswith((METADATA, TAG)) and on.partition(":")[2]
    if on not in PLAIN and not named:
        known = (*PLAIN, f"{METADATA}NAME", f"{TAG}NAME")
        raise ValueError(f"unknown '{on}': {did_you_mean(on, known)}allowed are {', '.join(known)}")
    begins = f"{METADATA}x-amz-meta-"
    if on.startswith(METADATA) and (on != on.lower() or not on.startswith(begins) or on == begins):
        raise ValueError(f"'{on}': allowed is {METADATA}x-amz-meta-NAME in lower case")
    if condition.how not in _HOWS.get(on, _TEXT):
        allowed = ", ".join(_HOWS.get(on, _TEXT))
        raise ValueError(f"{on} does not support '{condition.how}'; allowed is {allowed}")
    if not condition.values:
        raise ValueError(f"{on}: no value; at least one is needed")
    test_of(condition)


def size_range(text: str) -> tuple[int, int | None]:
    """Parse `1KiB-10MB`, `1024-` or `-5GiB` to bytes, both inclusive; None is no limit.

    Raises:
        ValueError: the text has another form.
    """
    low, dash, high = text.partition("-")
    if not dash or not (low.strip() or high.strip()):
        raise ValueError(f"found {text!r}; allowed is a range of sizes such as 1KiB-10MB or 5GB-")
    first, last = _bytes(low) if low.strip() else 0, _bytes(high) if high.strip() else None
    if last is not None and last < first:
        raise ValueError(f"found {text!r}, which ends before it begins")
    return first, last


def _bytes(text: str) -> int:
    size = _SIZE.fullmatch(text.strip())
    if not size:
        raise ValueError(f"found {text!r}; allowed is a size such as 1024, 10kB or 5MiB")
    unit = (size[2] or "").lower()
    return int(size[1]) * (_UNITS | _BINARY)[unit]


def test_of(condition: Condition) -> Test:
    """Return a function that tests a value of an event.

    Raises:
        ValueError: a value of the condition does not have the form that `how` requires.
    """
    values = condition.values
    if condition.how == "equals":
        return frozenset(values).__contains__
    if condition.how == "prefix":
        return lambda text: text.startswith(values)
    if condition.how == "suffix":
        return lambda text: text.endswith(values)
    if condition.how == "regex":
        longest = max(map(len, values))
        if longest > MOST_REGEX_CHARACTERS:
            raise ValueError(
                f"a regular expression of {longest} characters; {MOST_REGEX_CHARACTERS} are allowed"
            )
        return RegexSet(values).any
    if condition.how == "range":
        ranges = [size_range(text) for text in values]
        return lambda size: any(a <= size and (b is None or size <= b) for a, b in ranges)
    return _in_networks([_network(text) for text in values])


def _network(text: str) -> "IPv4Network | IPv6Network":
    import ipaddress  # noqa: PLC0415 - only where a rule has a network

    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"found {text!r}: {error}; allowed is an address, or a network like 10.0.0.0/8"
        ) from None


def _in_networks(networks: "list[IPv4Network | IPv6Network]") -> Test:
    import ipaddress  # noqa: PLC0415 - only where a rule has a network

    def test(text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:  # a service name, as in events of S3's own operations
            return False
        return any(address in network for network in networks)

    return test
