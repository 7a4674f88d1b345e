"""Conditions of a rule beyond name, prefix and suffix, and how a failed one is explained."""

from typing import Any

import pytest

from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import NOTHING, Condition, Fact, check, size_range
from tests.unit.samples import event

HOOK = "arn:minio:sqs::hook:webhook"
TABLE = "arn:minio:sqs::table:postgresql"


def when(on: str, how: Any = "equals", *values: str, unless: bool = False) -> Condition:
    condition = Condition(on=on, how=how, values=values, unless=unless)
    check(condition)
    return condition


def rule(*conditions: Condition, arn: str = HOOK, **more: Any) -> Rule:
    events = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
    return Rule(bucket="uploads", arn=arn, events=events, conditions=conditions, **more)


def enriched(**more: Any) -> Event:
    facts = {"metadata": {"x-amz-meta-team": "red"}, "tags": [("class", "a"), ("class", "b")]}
    return event(
        "photos/2026/cat.jpg",
        **{"size": 2048, "source_ip": "10.1.2.3", "principal": "AWS:anna", **facts, **more},
    )


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (when("key", "regex", r"photos/\d+/.*\.jpe?g"), True),
        (when("key", "regex", r"photos/\d+"), False),  # the whole key, as with Ceph
        (when("key", "regex", r"x", r".*cat.*"), True),
        (when("key", "regex", ""), False),
        (when("key", "prefix", "films/", "photos/"), True),
        (when("key", "suffix", ".png", ".gif"), False),
        (when("key", "suffix", ".png", ".jpg"), True),
        (when("key", "prefix", "photos/", unless=True), False),
        (when("metadata:x-amz-meta-team", "equals", "red"), True),
        (when("metadata:x-amz-meta-team", "equals", "Red"), False),
        (when("metadata:x-amz-meta-team", "regex", "r.d"), True),
        (when("metadata:x-amz-meta-other", "equals", "red"), False),
        (when("metadata:x-amz-meta-other", "equals", "red", unless=True), True),
        (when("tag:class", "equals", "b"), True),  # one of several values is enough, as with Ceph
        (when("tag:class", "prefix", "c"), False),
        (when("size", "range", "1KiB-1MiB"), True),
        (when("size", "range", "2049-"), False),
        (when("size", "range", "-2048"), True),
        (when("size", "range", "0-1", "2kB-3kB"), True),
        (when("principal", "suffix", ":anna"), True),
        (when("source_ip", "cidr", "10.0.0.0/8"), True),
        (when("source_ip", "cidr", "2001:db8::/32"), False),
        (when("source_ip", "equals", "10.1.2.3"), True),
    ],
    ids=str,
)
def test_a_condition_matches_or_explains_why_not(condition: Condition, *, holds: bool) -> None:
    enriched_event = enriched()
    assert condition.unknown_facts(enriched_event) == NOTHING
    assert condition.holds(enriched_event) is holds
    assert (condition.failure(enriched_event) is None) is holds
    assert bool(RuleIndex([rule(condition)]).match(enriched_event)) is holds
    assert (rule(condition).failure(enriched_event) is None) is holds


def test_service_name_is_in_no_network() -> None:
    assert not when("source_ip", "cidr", "0.0.0.0/0").holds(enriched(source_ip="s3.amazonaws.com"))


def test_failure_names_actual_and_required_values() -> None:
    why = when("tag:class", "equals", "public", "open").failure(enriched())
    assert why == "tag:class is 'a' and 'b'; the rule asks for tag:class is 'public' or 'open'"
    why = when("size", "range", "1MiB-").failure(enriched())
    assert why == "size is 2048; the rule asks for size is in '1MiB-'"
    why = when("metadata:x-amz-meta-none", "equals", "x").failure(enriched())
    assert why == (
        "metadata:x-amz-meta-none is missing; the rule asks for metadata:x-amz-meta-none is 'x'"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"bucket": "other"}, "about the bucket uploads"),
        ({"name": "s3:ObjectAccessed:Get"}, "the event is s3:ObjectAccessed:Get"),
        ({"key": "films/cat.jpg"}, "does not begin with 'photos/'"),
        ({"key": "photos/cat.png"}, "does not end with '.jpg'"),
        ({"key": "photos/.jpg"}, "size is"),
        ({"size": 1}, "size is 1"),
    ],
)
def test_a_rule_reports_the_first_failure(changes: dict[str, Any], why: str) -> None:
    narrow = rule(when("size", "range", "10-20"), prefix="photos/", suffix=".jpg")
    reason = narrow.failure(event(**{"key": "photos/x.jpg", "size": 21, **changes}))
    assert reason is not None
    assert why in reason


def test_prefix_and_suffix_that_overlap_are_reported() -> None:
    assert "overlap" in str(rule(prefix="ab", suffix="bc").failure(event("abc")))


@pytest.mark.parametrize(
    ("condition", "fact"),
    [
        (when("metadata:x-amz-meta-a", "equals", "x"), Fact.HEAD),
        (when("content_type", "prefix", "image/"), Fact.HEAD),
        (when("tag:a", "equals", "x"), Fact.TAGS),
        (when("size", "range", "1-"), Fact.HEAD),
    ],
    ids=str,
)
def test_missing_facts_are_requested_and_match_meanwhile(condition: Condition, fact: Fact) -> None:
    bare = event("photos/2026/cat.jpg")
    requested: set[Fact] = set()
    index = RuleIndex([rule(condition)])
    assert not index.match(bare, requested)
    assert requested == {fact}
    assert [hit.to.arn for hit in index.match(bare)] == [HOOK]


def test_failing_rule_requests_no_facts() -> None:
    tag = when("tag:a", "equals", "x")
    requested: set[Fact] = set()
    for failing in (
        rule(tag, prefix="films/"),
        rule(tag, when("principal", "equals", "nobody")),
        rule(tag, when("key", "regex", "films/.*")),
    ):
        assert not RuleIndex([failing]).match(event("photos/cat.jpg", principal="anna"), requested)
    assert not requested


def test_a_regular_expression_stands_beside_prefix_suffix_and_size() -> None:
    narrow = rule(
        when("key", "regex", r"[a-z]+/.*"), when("size", "range", "5-"), prefix="a", suffix=".j*g"
    )
    index = RuleIndex([narrow])
    assert index.match(event("ab/x.jpeg", size=5))
    for key, size in (("ab/x.jpeg", 4), ("b/x.jpeg", 5), ("ab/x.png", 5), ("a1/x.jpeg", 5)):
        assert not index.match(event(key, size=size))


def test_target_gets_one_copy_and_each_named_rule_its_own() -> None:
    plain = [rule(prefix="photos/"), rule(suffix=".jpg"), rule(arn=TABLE)]
    named = [rule(prefix="photos/", name="one"), rule(suffix=".jpg", name="two")]
    hits = list(RuleIndex([*plain, *named]).match(event("photos/cat.jpg")))
    assert sorted(hit.to.arn for hit in hits) == sorted([HOOK, TABLE, HOOK, HOOK])
    assert {"one", "two"} < {hit.rule for hit in hits}


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (("colour", "equals", "red"), "unknown 'colour'"),
        (("keys", "equals", "red"), "did you mean 'key'"),
        (("tag:", "equals", "red"), "tag:NAME"),
        (("metadata:Team", "equals", "red"), "x-amz-meta-NAME in lower case"),
        (("metadata:x-amz-meta-", "equals", "red"), "x-amz-meta-NAME in lower case"),
        (("size", "equals", "5"), "allowed is range"),
        (("key", "cidr", "5"), "does not support 'cidr'"),
        (("size", "range", "5"), "a range of sizes"),
        (("size", "range", "-"), "a range of sizes"),
        (("size", "range", "9-5"), "ends before it begins"),
        (("size", "range", "5x-"), "found '5x'"),
        (("source_ip", "cidr", "10.0.0.1/8"), "or a network like"),
        (("key", "regex", "(a"), "cannot be: missing )"),
        (("key", "regex", r"(a)\1"), "matched in linear time"),
        (("key", "regex", "(?=a)b"), "matched in linear time"),
        (("key", "regex", "a" * 1001), "1000 are allowed"),
        (("key", "equals"), "no value"),
    ],
)
def test_an_invalid_condition_is_refused(condition: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        when(*condition)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("1-2", (1, 2)),
        ("1kB-1MB", (1_000, 1_000_000)),
        ("1KiB - 2GiB", (1_024, 2 * 1024**3)),
        ("5T-", (5 * 10**12, None)),
    ],
)
def test_sizes_have_units(text: str, limits: tuple[int, int | None]) -> None:
    assert size_range(text) == limits
