"""Rules: which events of a bucket go to which target, and an index to match them quickly.

A rule has event names, a prefix and a suffix, as in `mc event add`; `*` and `?` in the prefix or
suffix are wildcards, as in MinIO. Prefix and suffix may not overlap in the key. `conditions` narrow
it further.

The index has the prefixes of all rules, and each prefix its suffixes, so that a match costs what
the rules that match cost, and memory is linear in the text of the rules. A rule with wildcards is a
regular expression.

`affixes`, `conditions` and `regexes` check events, `cost` counts memory, `grammar` and `listing`
read and write rules as text, `access_events` finds events of a rule that no trail logs.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple

import msgspec

from bucketcast.destination import Destination
from bucketcast.event import Event
from bucketcast.event.names import expand, spellings
from bucketcast.rules.affixes import Affixes
from bucketcast.rules.conditions import Condition, Fact, How, test_of
from bucketcast.rules.regexes import RegexSet


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
        if not _has(event.key, f"{self.prefix}*"):
            return f"the key {event.key!r} does not begin with {self.prefix!r}"
        if not _has(event.key, f"*{self.suffix}"):
            return f"the key {event.key!r} does not end with {self.suffix!r}"
        if not _has(event.key, f"{self.prefix}*{self.suffix}"):
            return f"prefix {self.prefix!r} and suffix {self.suffix!r} overlap in {event.key!r}"
        return next(filter(None, (condition.failure(event) for condition in self.conditions)), None)


class Hit(NamedTuple):
    """A match: where the event goes, and the rule: its name if `named`, else its id."""

    to: Destination
    rule: str
    named: bool = False


class RuleIndex:
    """The rules of one bucket, compiled for matching."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._names: dict[str, int] = {}
        by_prefix: dict[str, dict[str, list[_IndexedRule]]] = {}
        by_regex: dict[str, list[_IndexedRule]] = {}
        for rule in rules:
            if rule.disabled:
                continue
            regex, conditions = searched(rule)
            entry = _IndexedRule(rule, conditions, self._mask(rule.events))
            if regex is not None:
                by_regex.setdefault(regex, []).append(entry)
                continue
            heads, tails = ends(rule, "prefix"), ends(rule, "suffix")
            if len(heads) > 1 < len(tails):
                tails = ("",)  # all pairs of them would be too many
            for head in heads:
                suffixes = by_prefix.setdefault(head, {})
                for tail in tails:
                    suffixes.setdefault(tail[::-1], []).append(entry)
        self._prefixes = Affixes({head: Affixes(tails) for head, tails in by_prefix.items()})
        self._by_regex = [*by_regex.values()]
        self._regexes = RegexSet(by_regex) if by_regex else None

    def match(self, event: Event, needed: set[Fact] | None = None) -> Collection[Hit]:
        """Return the matches; one per target, and one more per named rule.

        A rule that depends on facts not fetched yet adds them to `needed` and does not match.
        Without `needed`, conditions on unknown facts hold.
        """
        hits: dict[str, Hit] = {}
        mask = 0
        for name in spellings(event):
            mask |= self._names.get(name, 0)
        if not mask:
            return ()
        for entries in self._of_key(event.key):
            for entry in entries:
                if entry.names & mask and entry.slot not in hits and entry.matches(event, needed):
                    hits[entry.slot] = entry.hit
        return hits.values()

    def _of_key(self, key: str) -> list[list["_IndexedRule"]]:
        """Return the rules with a prefix and suffix of the key, or with a regex that matches it."""
        found: list[list[_IndexedRule]] = []
        backwards = key[::-1]
        for suffixes in self._prefixes.along(key):
            found += suffixes.along(backwards)
        if self._regexes is not None:
            for number in self._regexes.matching(key):
                found.append(self._by_regex[number])
        return found

    def _mask(self, events: Iterable[str]) -> int:
        """Return a number with one bit for each single name of the events."""
        for family in events:
            if family not in self._names:
                for name in expand(family):
                    self._names.setdefault(name, 1 << len(self._names))
                self._names[family] = reduce(or_, map(self._names.__getitem__, expand(family)))
        return reduce(or_, map(self._names.__getitem__, events), 0)


class _IndexedRule:
    """A rule in the index: what is checked once a key has its prefix and suffix, or its regex."""

    __slots__ = ("conditions", "hit", "names", "shortest", "slot")

    def __init__(self, rule: Rule, conditions: Sequence[Condition], names: int) -> None:
        self.hit = Hit(rule.to, rule.name or rule.id, bool(rule.name))
        self.slot = f"{rule.arn}\0{rule.name}" if rule.name else rule.arn
        self.conditions = tuple(zip(conditions, map(test_of, conditions), strict=True))
        self.names = names
        self.shortest = 0 if _is_wild(rule) else len(rule.prefix) + len(rule.suffix)

    def matches(self, event: Event, needed: set[Fact] | None) -> bool:
        if len(event.key) < self.shortest:
            return False
        if not self.conditions:
            return True
        if not all(condition.holds(event, test) for condition, test in self.conditions):
            return False
        unknown = {
            fact for condition, _ in self.conditions if (fact := condition.unknown_facts(event))
        }
        if needed is None or not unknown:
            return True
        needed |= unknown
        return False


def searched(rule: Rule) -> tuple[str | None, tuple[Condition, ...]]:
    """Return the regular expression by which a rule is found, and the conditions to check then.

    It is None for a rule that is found by its prefix and suffix.
    """
    if _is_wild(rule):
        return wildcard(f"{rule.prefix}*{rule.suffix}"), rule.conditions
    found = next(filter(_is_regex, rule.conditions), None)
    if found is None:
        return None, rule.conditions
    ends: Mapping[How, str] = {"prefix": rule.prefix, "suffix": rule.suffix}
    return found.values[0], (
        *(Condition("key", (end,), how) for how, end in ends.items() if end),
        *(condition for condition in rule.conditions if condition is not found),
    )


def wildcard(pattern: str) -> str:
    """Return a regular expression: `*` is any text, `?` one character, the rest literal."""
    parts = re.split("([*?])", pattern)
    return "(?s)" + "".join({"*": ".*", "?": "."}.get(part) or re.escape(part) for part in parts)


def _has(key: str, pattern: str) -> bool:
    return RegexSet([wildcard(pattern)]).any(key)


def _is_wild(rule: Rule) -> bool:
    both = rule.prefix + rule.suffix
    return "*" in both or "?" in both


def _is_regex(condition: Condition) -> bool:
    """Return True for a single regular expression for the key, which the index looks up."""
    single = condition.how == "regex" and condition.on == "key" and len(condition.values) == 1
    return single and not condition.unless


def ends(rule: Rule, how: Literal["prefix", "suffix"]) -> Sequence[str]:
    """Return the prefixes or suffixes of matching keys, its own or a condition's; "" is any."""
    end: str = getattr(rule, how)
    if end or not rule.conditions:
        return (end,)
    given = (
        condition.values
        for condition in rule.conditions
        if condition.on == "key" and condition.how == how and not condition.unless
    )
    return next(given, ("",))
