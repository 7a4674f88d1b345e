"""Rules: which events of a bucket go to which target, and an index to match them quickly.

A rule has event names, a prefix and a suffix, as in `mc event add`; `*` and `?` in the prefix or
suffix are wildcards, as in MinIO. Prefix and suffix may not overlap in the key. `conditions` narrow
it further.

The index looks a key up by the prefix lengths that occur, shortest first, and stops where no longer
prefix can match; each prefix has an index of suffixes in the same way. So the cost grows with the
rules that match, not with the others.

`conditions` and `regexes` check events, `grammar` and `listing` read and write rules as text,
`loops` recognises endless loops, `access_events` finds events of a rule that no trail logs.
"""

import fnmatch
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from bucketcast.destination import Destination
from bucketcast.event import Event
from bucketcast.event.names import expand, spellings
from bucketcast.rules.conditions import Condition, Fact
from bucketcast.rules.regexes import RegexSet

Match = Callable[[str], Any]
Payload = TypeVar("Payload")
_MISS: Any = object()


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule of a bucket; `events` are names or families, as the user wrote them.

    All `conditions` must hold. A target gets an event once, however many of its rules match; a rule
    with a `name` is a notification of its own, as with Ceph, and sends its own copy. `label` is the
    `Id` from S3's API, and `filters` the order of its filters there if that is not prefix before
    suffix; both are only kept to be returned. A rule that is `disabled` matches nothing.
    """

    bucket: str
    arn: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""
    conditions: tuple[Condition, ...] = ()
    name: str = ""
    label: str = ""
    filters: tuple[str, ...] = ()
    disabled: bool = False

    @property
    def to(self) -> Destination:
        return Destination.of(self.arn)

    @property
    def id(self) -> str:
        """The id of the rule; equal rules have equal ids, so repeats are recognised."""
        parts = [self.bucket, self.arn, *sorted(self.events), self.prefix, self.suffix]
        if self.conditions or self.name:
            parts += [self.name, *sorted(map(str, self.conditions))]
        if self.label:
            parts += ["label", self.label]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def failure(self, event: Event) -> str | None:
        """Return the first reason why the event does not match; None if it matches."""
        names = spellings(event)
        wanted = {name for family in self.events for name in expand(family)}
        if self.disabled or event.bucket != self.bucket:
            elsewhere = f"the rule is about the bucket {self.bucket}"
            return "the rule is switched off" if self.disabled else elsewhere
        if not wanted.intersection(names):
            return f"the event is {' or '.join(names)}; the rule asks for {', '.join(self.events)}"
        if not wildcard(f"{self.prefix}*")(event.key):
            return f"the key {event.key!r} does not begin with {self.prefix!r}"
        if not wildcard(f"*{self.suffix}")(event.key):
            return f"the key {event.key!r} does not end with {self.suffix!r}"
        if not wildcard(f"{self.prefix}*{self.suffix}")(event.key):
            return f"prefix {self.prefix!r} and suffix {self.suffix!r} overlap in {event.key!r}"
        return next(filter(None, (condition.failure(event) for condition in self.conditions)), None)


def patterns(*rules: Rule) -> set[str]:
    """Return the regular expressions of rules that are not disabled."""
    return {
        pattern
        for rule in rules
        if not rule.disabled
        for condition in rule.conditions
        if condition.how == "regex"
        for pattern in condition.values
    }


class Hit(NamedTuple):
    """A match: where the event goes, and the rule: its name if `named`, else its id."""

    to: Destination
    rule: str
    named: bool = False


class RuleIndex:
    """The rules of one bucket, compiled for matching."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        by_name: dict[str, list[_IndexedRule]] = {}
        patterns: dict[str, int] = {}
        for rule in sorted(rules, key=lambda rule: rule.id):
            if rule.disabled:
                continue
            entry = _IndexedRule(rule)
            if entry.regex:
                patterns.setdefault(entry.regex, len(patterns))
            for name in dict.fromkeys(name for family in rule.events for name in expand(family)):
                by_name.setdefault(name, []).append(entry)
        # One set for all event names: most rules ask for the same ones, and a set takes memory.
        regexes = RegexSet(list(patterns)) if patterns else None
        self.instructions = regexes.instructions if regexes else 0
        self._names = {
            name: _Named(entries, patterns, regexes) for name, entries in by_name.items()
        }

    def match(self, event: Event, needed: set[Fact] | None = None) -> Collection[Hit]:
        """Return the matches; one per target, and one more per named rule.

        A rule that depends on facts not fetched yet adds them to `needed` and does not match.
        Without `needed`, conditions on unknown facts hold.
        """
        hits: dict[str, Hit] = {}
        for name in spellings(event):
            rules = self._names.get(name)
            if rules is not None:
                rules.match(event, hits, needed)
        return hits.values()


class _Named:
    """The rules for one event name.

    `patterns` maps a rule's regular expression to its index in `searched`.
    """

    __slots__ = ("_by_pattern", "_prefixes", "_searched")

    def __init__(
        self, entries: list["_IndexedRule"], patterns: Mapping[str, int], regexes: RegexSet | None
    ) -> None:
        self._prefixes = _index([entry for entry in entries if not entry.regex])
        self._by_pattern: dict[int, list[_IndexedRule]] = {}
        for entry in entries:
            if entry.regex:
                self._by_pattern.setdefault(patterns[entry.regex], []).append(entry)
        self._searched = regexes.matching if regexes and self._by_pattern else None

    def match(self, event: Event, hits: dict[str, Hit], needed: set[Fact] | None) -> None:
        key = event.key
        backwards = key[::-1]
        for suffixes in self._prefixes.along(key):
            for entries in suffixes.along(backwards):
                for entry in entries:
                    if entry.slot not in hits and entry.matches(event, needed):
                        hits[entry.slot] = entry.hit
        if self._searched is not None:
            for pattern in self._searched(key):
                for entry in self._by_pattern.get(pattern, ()):
                    if entry.slot not in hits and entry.matches(event, needed):
                        hits[entry.slot] = entry.hit


class _IndexedRule:
    """A rule in the index: literal ends to look up, and further checks.

    The index also looks up one regular expression for the key, together with those of other rules.
    """

    __slots__ = ("conditions", "heads", "hit", "pattern", "regex", "shortest", "slot", "tails")

    def __init__(self, rule: Rule) -> None:
        self.hit = Hit(rule.to, rule.name or rule.id, bool(rule.name))
        self.slot = f"{rule.arn}\0{rule.name}" if rule.name else rule.arn
        self.regex = next(
            (condition.values[0] for condition in rule.conditions if _is_regex(condition)), ""
        )
        self.conditions = tuple(
            condition for condition in rule.conditions if not _is_regex(condition)
        )
        head = re.split(r"[*?]", rule.prefix, maxsplit=1)[0]
        tail = re.split(r"[*?]", rule.suffix[::-1], maxsplit=1)[0]
        self.heads = _ends(rule, "prefix") if not head else (head,)
        self.tails = _ends(rule, "suffix") if not tail else (tail,)
        self.shortest = len(rule.prefix) + len(rule.suffix)
        wild = self.regex or len(head) + len(tail) < self.shortest
        self.pattern = wildcard(f"{rule.prefix}*{rule.suffix}") if wild else None

    def matches(self, event: Event, needed: set[Fact] | None) -> bool:
        key = event.key
        if not (self.pattern(key) if self.pattern else len(key) >= self.shortest):
            return False
        if not self.conditions:
            return True
        if not all(condition.holds(event) for condition in self.conditions):
            return False
        unknown = {
            fact for condition in self.conditions if (fact := condition.unknown_facts(event))
        }
        if needed is None or not unknown:
            return True
        needed |= unknown
        return False


def _ends(rule: Rule, operator: str) -> tuple[str, ...]:
    """Return the prefixes of matching keys, or their suffixes reversed; "" is any."""
    for condition in rule.conditions:
        if condition.on == "key" and condition.how == operator and not condition.unless:
            return (
                condition.values
                if operator == "prefix"
                else tuple(end[::-1] for end in condition.values)
            )
    return ("",)


def _is_regex(condition: Condition) -> bool:
    """Return True for a single regular expression for the key, which the index looks up."""
    single = condition.how == "regex" and condition.on == "key" and len(condition.values) == 1
    return single and not condition.unless


def wildcard(pattern: str) -> Match:
    """Return a whole-string matcher: `*` is any text, `?` one character, the rest literal."""
    literal_brackets = pattern.replace("[", "[[]")
    return re.compile(fnmatch.translate(literal_brackets)).match


class _Affixes(Generic[Payload]):
    """Payloads by the text that a key begins with."""

    __slots__ = ("_lengths", "_nodes")

    def __init__(self, payloads: dict[str, Payload]) -> None:
        self._lengths = sorted({len(affix) for affix in payloads})
        nodes: dict[str, Payload | None] = {}
        for affix in payloads:
            # A longer affix leaves an entry at each shorter length, so that a miss ends the search.
            for length in self._lengths:
                if length < len(affix):
                    nodes.setdefault(affix[:length])
        nodes.update(payloads)
        self._nodes = nodes

    def along(self, text: str) -> Iterator[Payload]:
        size, get = len(text), self._nodes.get
        for length in self._lengths:
            if length > size:
                return
            payload = get(text[:length], _MISS)
            if payload is _MISS:
                return
            if payload is not None:
                yield payload


def _index(entries: Iterable[_IndexedRule]) -> _Affixes[_Affixes[list[_IndexedRule]]]:
    heads: dict[str, dict[str, list[_IndexedRule]]] = {}
    for entry in entries:
        for head, tail in product(entry.heads, entry.tails):
            heads.setdefault(head, {}).setdefault(tail, []).append(entry)
    return _Affixes({head: _Affixes(tails) for head, tails in heads.items()})
