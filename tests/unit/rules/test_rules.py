"""Which rules an event matches, without comparing the others."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast.event.names import expand
from bucketcast.rules import Rule, RuleIndex, wildcard
from bucketcast.rules.conditions import Condition
from tests.unit.samples import matched

PUT = "s3:ObjectCreated:Put"
HOOK = "arn:minio:sqs::hook:webhook"
TABLE = "arn:minio:sqs::table:postgresql"


def rule(
    prefix: str = "", suffix: str = "", events: Iterable[str] = (PUT,), arn: str = HOOK
) -> Rule:
    return Rule(bucket="uploads", arn=arn, events=tuple(events), prefix=prefix, suffix=suffix)


@pytest.mark.parametrize(
    ("prefix", "suffix", "key", "matches"),
    [
        ("images/", ".jpg", "images/cat.jpg", True),
        ("images/", "", "Images/cat.jpg", False),
        # Prefix and suffix may not share a character of the key.
        ("ab", "bc", "abc", False),
        # Only * and ? are special.
        ("(a|b)", "", "(a|b)c", True),
        ("a*$^", "", "a-$^", True),
        # A key may hold anything.
        ("a*c", "", "a\nc", True),
        ("?", "", "\n", True),
        ("😀/", ".txt", "😀/a.txt", True),
        ("x" * 1024, "", "x" * 1024, True),
        ("x" * 1024, "", "x" * 1023, False),
    ],
)
def test_prefix_and_suffix(prefix: str, suffix: str, key: str, *, matches: bool) -> None:
    example = rule(prefix, suffix)
    assert matched(RuleIndex([example]), PUT, key) == ({HOOK: example.id} if matches else {})


@pytest.mark.parametrize(
    ("pattern", "happened", "matches"),
    [
        ("s3:ObjectCreated:*", "s3:ObjectCreated:Put", True),
        ("s3:ObjectCreated:*", "s3:ObjectCreated:DeleteTagging", True),
        ("s3:ObjectCreated:*", "s3:ObjectRemoved:Delete", False),
        ("s3:ObjectCreated:Put", "s3:ObjectCreated:Put", True),
        ("s3:ObjectCreated:Put", "s3:ObjectCreated:PutTagging", False),
        ("s3:ObjectRemoved:*", "s3:ObjectRemoved:DeleteMarkerCreated", True),
        ("s3:ObjectRemoved:*", "s3:LifecycleDelMarkerExpiration:Delete", False),
        ("s3:ObjectAcl:Put", "s3:ObjectAcl:Put", True),
        ("s3:ObjectCreated:Put", "s3:objectcreated:put", False),
    ],
)
def test_events(pattern: str, happened: str, *, matches: bool) -> None:
    assert bool(matched(RuleIndex([rule(events=[pattern])]), happened, "a")) == matches


def test_rule_with_several_families_matches_each_of_them_once() -> None:
    example = rule(events=["s3:ObjectCreated:*", "s3:ObjectCreated:Put", "s3:ObjectRemoved:*"])
    index = RuleIndex([example])
    assert matched(index, "s3:ObjectCreated:Put", "a") == {HOOK: example.id}
    assert matched(index, "s3:ObjectRemoved:Delete", "a") == {HOOK: example.id}
    assert matched(index, "s3:ObjectAccessed:Get", "a") == {}


def test_id_ignores_the_order_of_events() -> None:
    original = rule("a", events=["s3:ObjectCreated:*", "s3:ObjectRemoved:*"])
    assert original.id == rule("a", events=["s3:ObjectRemoved:*", "s3:ObjectCreated:*"]).id
    others = [
        rule("b"),
        rule("", "a"),
        rule("a", arn=TABLE),
        rule("a", events=["s3:ObjectCreated:*"]),
        replace(original, name="n"),
        replace(original, conditions=(Condition("size", ("1-",), "range"),)),
        replace(original, label="q"),
    ]
    assert len({original.id, *(other.id for other in others)}) == 8


def naive(rules: Iterable[Rule], name: str, key: str) -> set[str]:
    """Every rule is tried, every character is compared."""
    return {
        candidate.arn
        for candidate in rules
        if any(name in expand(family) for family in candidate.events)
        and _matches(f"{candidate.prefix}*{candidate.suffix}", key)
    }


def _matches(pattern: str, text: str) -> bool:
    """Match wildcards with an NFA: the positions in the pattern that the text so far may reach."""
    states = {0}
    for character in (*text, None):
        for state in sorted(states):
            later = state
            while later < len(pattern) and pattern[later] == "*":
                later += 1
                states.add(later)
        if character is None:
            break
        states = {state for state in states if pattern[state : state + 1] == "*"} | {
            state + 1 for state in states if pattern[state : state + 1] in ("?", character)
        }
    return len(pattern) in states


AFFIX = st.text("ab*?[", max_size=4)
RULES = st.lists(
    st.builds(
        rule,
        AFFIX,
        AFFIX,
        st.sampled_from([("s3:ObjectCreated:*",), (PUT,), ("s3:ObjectRemoved:Delete",)]),
        st.sampled_from([HOOK, TABLE, "arn:minio:sqs::third:redis"]),
    ),
    max_size=8,
)


@given(RULES, st.text("ab[", max_size=7))
def test_index_agrees_with_a_linear_search(rules: list[Rule], key: str) -> None:
    assert matched(RuleIndex(rules), PUT, key).keys() == naive(rules, PUT, key)


@given(st.text("ab*?[]!\\.", max_size=6), st.text("ab[]!\\.\n", max_size=6))
def test_wildcard_knows_only_star_and_question_mark(pattern: str, text: str) -> None:
    assert bool(wildcard(pattern)(text)) == _matches(pattern, text)


class Counted(dict[str, Any]):
    """A dictionary that counts how often it is asked."""

    compared = 0

    def get(self, name: str, default: Any = None) -> Any:
        type(self).compared += 1
        return super().get(name, default)


def lookups(index: RuleIndex, key: str) -> int:
    """How many look-ups an event costs."""
    by_head = index._names[PUT]._prefixes
    by_head._nodes = Counted(by_head._nodes)
    for by_tail in filter(None, by_head._nodes.values()):
        by_tail._nodes = Counted(by_tail._nodes)
    Counted.compared = 0
    matched(index, PUT, key)
    return Counted.compared


@pytest.mark.parametrize("count", [10, 10_000])
def test_lookups_do_not_grow_with_other_rules(count: int) -> None:
    """Ten thousand tenants, a prefix each: an event asks as often as beside ten."""
    wanted = rule("tenants/wanted-0/", ".jpg")
    others = [rule(f"tenants/{number:08}/", ".jpg") for number in range(count)]
    index = RuleIndex([wanted, *others])
    assert matched(index, PUT, "tenants/wanted-0/cat.jpg") == {HOOK: wanted.id}
    assert lookups(index, "tenants/wanted-0/cat.jpg") == 2
    assert lookups(index, "elsewhere/cat.jpg") == 1


def test_lookups_of_suffixes_grow_with_their_lengths() -> None:
    index = RuleIndex([rule("", f".{number:05}") for number in range(10_000)])
    assert matched(index, PUT, "a.00007").keys() == {HOOK}
    assert lookups(index, "a.00007") == 2


def test_pattern_with_many_stars_is_linear() -> None:
    """A matcher that goes back over the text for every star would not end here."""
    example = rule("*a" * 30, "b")
    assert matched(RuleIndex([example]), PUT, "a" * 1_000) == {}
    assert matched(RuleIndex([example]), PUT, "a" * 1_000 + "b") == {HOOK: example.id}
