"""Sets of regular expressions that are larger than RE2 compiles unless it is given the memory."""

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex, conditions, cost
from bucketcast.rules.conditions import Condition
from bucketcast.rules.regexes import RegexSet
from tests.unit.samples import event


def photos(count: int) -> list[str]:
    return [rf"(?i)[a-z]{{3,40}}/{number}/[\w-]{{1,60}}\.jpe?g" for number in range(count)]


def teams(count: int) -> list[str]:
    return [rf".*team-{number}\b.*\.(csv|json|parquet)" for number in range(count)]


@pytest.mark.parametrize(
    ("patterns", "key", "index"),
    [
        (photos(400), "holiday/137/on-the_beach.JPG", 137),
        (teams(3_000), "a/team-2999/report.csv", 2_999),
    ],
)
def test_a_large_set_is_matched_whole(patterns: list[str], key: str, index: int) -> None:
    regexes = RegexSet(patterns)
    assert regexes.matching(key) == [index]
    assert regexes.any(key)
    assert not regexes.any("nothing")


REPEATED = "(?:" + "|" * 20 + "){1000}"


@pytest.mark.parametrize(
    ("empty", "count"),
    [("(?:" + "|" * 900 + ")", 5), (r"\b|" * 300, 20), ("(?:)*" * 190, 100), (REPEATED, 20)],
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
    with pytest.raises(BucketcastError, match=r"would take [\d,]{10} bytes"):
        cost.check(map(_rule, several, range(60)))
    with pytest.raises(ValueError, match=r"take [\d,]{10} bytes together"):
        conditions.check(Condition("key", several, "regex"))
    conditions.check(Condition("key", several[:20], "regex"))


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
