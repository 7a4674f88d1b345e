"""What the rules of a bucket cost: bytes of ingest's memory, counted when they are written.

The time to read them grows with it, too.
"""

from collections.abc import Iterable
from typing import Final

from bucketcast.errors import BucketcastError
from bucketcast.limits import BUCKET_RULES_BYTES
from bucketcast.rules import Rule, searched
from bucketcast.rules.regexes import size

_RULE_BYTES: Final = 1_500
_EVENT_BYTES: Final = 100
_VALUE_BYTES: Final = 1_000
"""Of a condition, with its part of the condition."""


def cost(rules: Iterable[Rule]) -> int:
    """Return the most bytes that the index of these rules takes; disabled ones cost nothing.

    Raises:
        ValueError: RE2 cannot compile a regular expression of them.
    """
    total = 0
    together: set[str] = set()
    for rule in rules:
        if rule.disabled:
            continue
        regex, conditions = searched(rule)
        if regex is not None:
            together.add(regex)
        values = [value for condition in conditions for value in condition.values]
        total += _RULE_BYTES + _EVENT_BYTES * len(rule.events) + _VALUE_BYTES * len(values)
        networks = sum(len(each.values) for each in conditions if each.how == "cidr")
        total += 2 * _VALUE_BYTES * networks  # for the time to read them
        total += sum(map(_text_bytes, (rule.prefix, rule.suffix, *values)))
        total += sum(size(each.values) for each in conditions if each.how == "regex")
    return total + (size(together) if together else 0)


def check(rules: Iterable[Rule]) -> None:
    """Check that ingest can hold the rules of a bucket.

    Raises:
        BucketcastError: it cannot, with what they cost and what is allowed.
    """
    total = cost(rules)
    if total > BUCKET_RULES_BYTES:
        raise BucketcastError(
            f"the rules of the bucket would take {total:,} bytes of ingest's memory; allowed are "
            f"{BUCKET_RULES_BYTES:,}: use fewer conditions and shorter regular expressions, or "
            "--prefix and --suffix in place of them"
        )


def _text_bytes(text: str) -> int:
    """Return the bytes of a text, with one more that is the other way round."""
    return 2 * len(text) * (1 if text.isascii() else 4)
