"""Which rules an event matches, without comparing the others."""

import tracemalloc
from collections.abc import Iterable, Iterator
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast.event.names import FAMILIES, expand
from bucketcast.rules import Rule, RuleIndex, wildcard
from bucketcast.rules.conditions import Condition
from bucketcast.rules.regexes import RegexSet
from tests.unit.samples import event, matched

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


@pytest.mark.parametrize("family", FAMILIES)
def test_a_member_that_s3_adds_later_belongs_to_its_family(family: str) -> None:
    index = RuleIndex([rule(events=[family])])
    assert matched(index, family.replace("*", "OfNextYear"), "a")
    assert not matched(index, "s3:ObjectOfNextYear:Put", "a")


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
    assert RegexSet([wildcard(pattern)]).any(text) == _matches(pattern, text)


def long_rules(count: int) -> Iterator[Rule]:
    """Rules of prefixes, and of suffixes, of up to 1,024 random characters."""
    random = Random(count)  # noqa: S311 - the same rules in every run
    for number in range(count):
        text = random.randbytes(512).hex()[: 1_024 - number % 1_000]
        yield rule(text) if number % 2 else rule("", text)


def test_memory_is_linear_in_the_text_of_rules() -> None:
    """Whatever the lengths: each prefix was kept once for each length that others had."""
    rules = [*long_rules(10_000)]
    tracemalloc.start()
    index = RuleIndex(rules)
    taken, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert matched(index, PUT, f"{rules[-1].prefix}/a") == {HOOK: rules[-1].id}
    assert (taken, peak) < (60_000_000, 60_000_000)


def test_match_does_not_take_longer_for_other_rules() -> None:
    """The same event beside ten thousand prefixes as alone, in turns: a busy machine slows both."""
    one = rule("photos/", ".jpg")
    others = filter(lambda other: other.prefix, long_rules(20_000))
    indexes = [RuleIndex([one]), RuleIndex([one, *others])]
    happened = event("photos/cat.jpg", name=PUT)
    seconds: list[list[float]] = [[], []]
    for turn in range(60):
        began = process_time()
        for _ in range(300):
            assert indexes[turn % 2].match(happened)
        seconds[turn % 2].append(process_time() - began)
    alone, beside = map(min, seconds)
    assert beside < 1.5 * alone
