"""Rules: which events of a bucket go to which target, and an index that finds them quickly.

A rule asks for event names, a prefix and a suffix, as `mc event add` does; `*` and `?` inside the
prefix or suffix are wildcards, as in MinIO. Prefix and suffix may not overlap in the key.

The index looks a key up by the lengths of prefix that occur, shortest first, and stops where no
longer prefix can match; behind each prefix stand the suffixes in the same way. So the cost grows
with the rules that match, and not with those that do not.
"""

import fnmatch
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from bucketcast.names import expand

Match = Callable[[str], Any]
Payload = TypeVar("Payload")
_MISS: Any = object()


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a bucket; `events` are names or families as they were given."""

    bucket: str
    arn: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""

    @property
    def id(self) -> str:
        """The same for the same rule, so that an exact repeat is recognised."""
        parts = (self.bucket, self.arn, *sorted(self.events), self.prefix, self.suffix)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


class RuleIndex:
    """The rules of one bucket, ready to be asked."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._names: dict[str, _Affixes[_Affixes[list[_Entry]]]] = {}
        by_name: dict[str, list[_Entry]] = {}
        for rule in sorted(rules, key=lambda rule: rule.id):
            entry = _Entry(rule)
            for name in dict.fromkeys(single for given in rule.events for single in expand(given)):
                by_name.setdefault(name, []).append(entry)
        for name, entries in by_name.items():
            self._names[name] = _index(entries)

    def match(self, name: str, key: str) -> dict[str, str]:
        """ARN → id of the first rule that sends this event there; each target once."""
        found: dict[str, str] = {}
        prefixes = self._names.get(name)
        if prefixes is None:
            return found
        backwards = key[::-1]
        for suffixes in prefixes.along(key):
            for entries in suffixes.along(backwards):
                for entry in entries:
                    if entry.arn not in found and entry.matches(key):
                        found[entry.arn] = entry.rule
        return found


class _Entry:
    """A rule as the index holds it: literal ends to look up, and what is left to check."""

    __slots__ = ("arn", "head", "pattern", "rule", "shortest", "tail")

    def __init__(self, rule: Rule) -> None:
        self.arn, self.rule = rule.arn, rule.id
        self.head = re.split(r"[*?]", rule.prefix, maxsplit=1)[0]
        self.tail = re.split(r"[*?]", rule.suffix[::-1], maxsplit=1)[0]
        self.shortest = len(rule.prefix) + len(rule.suffix)
        wild = len(self.head) + len(self.tail) < self.shortest
        self.pattern = wildcard(f"{rule.prefix}*{rule.suffix}") if wild else None

    def matches(self, key: str) -> bool:
        return bool(self.pattern(key)) if self.pattern else len(key) >= self.shortest


def wildcard(pattern: str) -> Match:
    """A whole-string matcher: `*` is any run of characters, `?` exactly one, the rest literal."""
    literal_brackets = pattern.replace("[", "[[]")
    return re.compile(fnmatch.translate(literal_brackets)).match


class _Affixes(Generic[Payload]):
    """Payloads by the text that a key begins with."""

    __slots__ = ("_lengths", "_nodes")

    def __init__(self, payloads: dict[str, Payload]) -> None:
        self._lengths = sorted({len(affix) for affix in payloads})
        nodes: dict[str, Payload | None] = {}
        for affix in payloads:
            # A longer affix leaves a mark at each shorter length, so that a miss ends the search.
            for length in self._lengths:
                if length < len(affix):
                    nodes.setdefault(affix[:length])
        nodes.update(payloads)
        self._nodes = nodes

    def along(self, text: str) -> Iterator[Payload]:
        size, held = len(text), self._nodes.get
        for length in self._lengths:
            if length > size:
                return
            payload = held(text[:length], _MISS)
            if payload is _MISS:
                return
            if payload is not None:
                yield payload


def _index(entries: list[_Entry]) -> _Affixes[_Affixes[list[_Entry]]]:
    heads: dict[str, dict[str, list[_Entry]]] = {}
    for entry in entries:
        heads.setdefault(entry.head, {}).setdefault(entry.tail, []).append(entry)
    return _Affixes({head: _Affixes(tails) for head, tails in heads.items()})
