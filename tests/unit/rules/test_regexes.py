"""Sets of regular expressions that are larger than RE2 compiles unless it is given the memory."""

import pytest
from msgspec.structs import replace

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex, conditions, cost
from bucketcast.rules.conditions import Condition, How
from bucketcast.rules.regexes import RegexSet
from tests.unit.samples import event


def photos(count: int) -> list[str]:
    return [rf"(?i)[a-z]{{3,40}}/{number}/[\w-]{{1,60}}\.jpe?g" for number in range(count)]


def teams(count: int) -> list[str]:
    return [rf".*team-{number}\b.*\.(csv|json|parquet)" for number in range(count)]


@pytest.mark.parametrize(
    ("patterns", "key", "index"),
    [
        (photos(4), "holiday/3/on-the_beach.JPG", 3),
        (teams(80), "a/team-79/report.csv", 79),
    ],
)
def test_a_large_set_is_matched_whole(patterns: list[str], key: str, index: int) -> None:
    regexes = RegexSet(patterns)
    assert regexes.matching(key) == [index]
    assert regexes.any(key)
    assert not regexes.any("nothing")


REPEATED = "(?:" + "|" * 20 + "){100}"


@pytest.mark.parametrize(
    ("empty", "count"),
    [("(?:" + "|" * 900 + ")", 5), (r"\b|" * 300, 20), ("(?:)*" * 190, 100), (REPEATED, 3)],
)
def test_ingest_reads_what_is_written(empty: str, count: int) -> None:
    """RE2 leaves out the empty parts of a program once it has all of it."""
    rules = [_rule(f"{empty}{number}", number) for number in range(count)]
    cost.check(rules)
    index, key = RuleIndex(rules), _at(f"{count - 1}")
    assert [hit.to.arn for hit in index.match(key)] == [_arn(count - 1)]
    assert not index.match(_at("none"))


def test_what_ingest_cannot_read_is_refused_with_figures() -> None:
    several = tuple(f"{REPEATED}{number}" for number in range(60))
    with pytest.raises(BucketcastError, match=r"would take 4,096 steps .* allowed are 4,000"):
        cost.check(map(_rule, several, range(60)))
    with pytest.raises(ValueError, match="take 4,096 steps together; allowed are 4,000"):
        conditions.check(Condition("key", several, "regex"))
    conditions.check(Condition("key", several[:3], "regex"))


@pytest.mark.parametrize("on", ["key", "tag:a"])
@pytest.mark.parametrize("unless", [True, False])
@pytest.mark.parametrize(("how", "many"), [("regex", 400), ("equals", 4_100)])
def test_so_is_what_it_cannot_match_in_time(how: How, many: int, on: str, *, unless: bool) -> None:
    """Rules that one key leads to count together, whatever their prefixes."""

    def nested(number: int) -> Rule:
        test = Condition(on, (f".*{number}",), how, unless)
        return replace(_rule("", number), prefix="a" * (number % 50), conditions=(test,))

    cost.check(map(nested, range(50)))
    with pytest.raises(BucketcastError, match=r"would take [\d,]+ steps to match an event"):
        cost.check(map(nested, range(many)))
    cost.check(replace(nested(number), prefix=f"{number}/") for number in range(200))


def test_a_regular_expression_applies_to_the_events_of_its_own_rule() -> None:
    first, same = _rule("a/.*", 1), _rule("a/.*", 2, event="s3:ObjectRemoved:*")
    index = RuleIndex([first, same, _rule("b/.*", 3)])
    assert [hit.to.arn for hit in index.match(_at("a/x"))] == [_arn(1)]
    assert [hit.to.arn for hit in index.match(_at("a/x", "s3:ObjectRemoved:Delete"))] == [_arn(2)]
    assert not index.match(_at("a/x", "s3:ObjectAccessed:Get"))


def _arn(number: int) -> str:
    return f"arn:minio:sqs::{number}:webhook"


def _rule(pattern: str, number: int, event: str = "s3:ObjectCreated:*") -> Rule:
    condition = Condition(on="key", how="regex", values=(pattern,))
    return Rule(bucket="uploads", arn=_arn(number), events=(event,), conditions=(condition,))


def _at(key: str, name: str = "s3:ObjectCreated:Put") -> Event:
    return event(key, name=name)
