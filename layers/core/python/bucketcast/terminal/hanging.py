"""What hangs on a target, topic or bucket that a command removes: the rules that name it."""

from collections.abc import Sequence
from typing import Final

from bucketcast.destination import Destination
from bucketcast.rules import Rule
from bucketcast.rules.listing import line, state
from bucketcast.state.rules import Rules
from bucketcast.terminal.output import counted

_SHOWN: Final = 5


def rules_naming(to: Destination, rules: Rules) -> list[Rule]:
    """Return the rules of all buckets that send events to a destination, in whatever region."""
    return [rule for rule in rules.all() if rule.to.key == to.key]


def named_by(rules: Sequence[Rule]) -> str:
    """Return a part of a question, such as `, named by 2 rules`; "" for no rules."""
    return f", named by {counted(len(rules), 'rule')}" if rules else ""


def lines(rules: Sequence[Rule]) -> list[str]:
    """Return the first rules for people, and how many more there are."""
    shown = [f"  {rule.bucket} {line(rule)} {state(rule)}".rstrip() for rule in rules[:_SHOWN]]
    return [*shown, *([f"  and {len(rules) - _SHOWN:,} more"] if rules[_SHOWN:] else [])]
