"""What the rules of a bucket cost: ingest's memory and time, counted when they are written.

The time to read them grows with their bytes, the time to match an event with their steps: all
instructions of regular expressions, for its longest key, and the conditions of all rules that one
key may lead to.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from bucketcast.errors import BucketcastError
from bucketcast.limits import MOST_BUCKET_RULES_BYTES, MOST_BUCKET_RULES_STEPS
from bucketcast.rules import Rule, ends, regexes, searched
from bucketcast.rules.affixes import Affixes
from bucketcast.rules.regexes import Cost

_RULE_BYTES: Final = 1_500
_EVENT_BYTES: Final = 100
_VALUE_BYTES: Final = 1_000
"""Of a condition, with its part of the condition."""
_NETWORK_BYTES: Final = 3 * _VALUE_BYTES
"""For the time to read it."""
_VALUES_A_STEP: Final = 10
_LONGER: Final = 4
"""Metadata may be twice as long as a key, and is tested as sent and decoded."""


def cost(rules: Iterable[Rule]) -> Cost:
    """Return what the index of these rules costs; disabled ones cost nothing.

    What comes after a rule that is one too many is not counted.

    Raises:
        ValueError: RE2 cannot compile a regular expression of them.
    """
    memory = 0
    together: set[str] = set()
    tests: Counter[str] = Counter()
    for rule in rules:
        if rule.disabled:
            continue
        regex, conditions = searched(rule)
        if regex is not None:
            together.add(regex)
        memory += _RULE_BYTES + _EVENT_BYTES * len(rule.events)
        memory += sum(map(_text_bytes, (rule.prefix, rule.suffix, rule.label)))
        steps = 0
        for condition in conditions:
            each = _NETWORK_BYTES if condition.how == "cidr" else _VALUE_BYTES
            memory += each * len(condition.values) + sum(map(_text_bytes, condition.values))
            steps += 1 + len(condition.values) // _VALUES_A_STEP
            if condition.how == "regex":
                found = regexes.cost(condition.values)
                memory += found.memory
                steps += found.steps * (1 if condition.on == "key" else _LONGER)
        for prefix in ends(rule, "prefix") if regex is None else ("",):
            tests[prefix] += steps
        if memory > MOST_BUCKET_RULES_BYTES or steps > MOST_BUCKET_RULES_STEPS:
            break
    by_prefix = Affixes(tests)
    most = max((sum(by_prefix.along(prefix)) for prefix in tests), default=0)
    found = regexes.cost(together) if together else Cost(0, 0)
    return Cost(memory + found.memory, most + found.steps)


def check(rules: Iterable[Rule]) -> None:
    """Check that ingest can hold the rules of a bucket, and match its events in time.

    Raises:
        BucketcastError: it cannot, with what they cost and what is allowed.
    """
    found = cost(rules)
    for number, most, what in (
        (found.memory, MOST_BUCKET_RULES_BYTES, "bytes of ingest's memory"),
        (found.steps, MOST_BUCKET_RULES_STEPS, "steps to match an event"),
    ):
        if number > most:
            raise BucketcastError(
                f"the rules of the bucket would take {number:,} {what}; allowed are {most:,}: use "
                "fewer conditions and shorter regular expressions, or --prefix and --suffix in "
                "place of them"
            )


def _text_bytes(text: str) -> int:
    """Return the bytes of a text, with one more that is the other way round, or is hashed."""
    return 2 * len(text) * (1 if text.isascii() else 4)
