"""What S3 sends of a bucket, and rules that ask for more."""

import pytest

from bucketcast.event.names import FAMILIES, SINGLES, WORDS
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.rules.sent_events import ALL, DEFAULT, WHOLE, Part

CREATED = Part.of(["s3:ObjectCreated:*"])


def rule(*events: str, prefix: str = "", suffix: str = "", keys: Condition | None = None) -> Rule:
    conditions = (keys,) if keys else ()
    return Rule(
        bucket="b", arn="a", events=events, prefix=prefix, suffix=suffix, conditions=conditions
    )


def test_the_default_is_what_minios_words_ask_for() -> None:
    words = [rule(*names) for names in WORDS.values()]
    assert [WHOLE.with_rules([word]) for word in words] == [WHOLE] * len(words)
    assert {event for event in ALL.events if Part.of({*DEFAULT, event}) != WHOLE} == {
        "s3:IntelligentTiering",
        "s3:ObjectAcl:Put",
        "s3:ObjectAnnotation:*",
        "s3:ObjectRetention:Put",
        "s3:ReducedRedundancyLostObject",
    }


@pytest.mark.parametrize("event", sorted(SINGLES | FAMILIES.keys()))
def test_a_part_that_was_made_for_a_rule_is_enough_for_it(event: str) -> None:
    for part in (Part.of([]), CREATED):
        wider = part.with_rules([rule(event, prefix="in/")])
        assert wider.with_rules([rule(event, prefix="in/b")]) == wider
        assert set(part.events) <= set(wider.events) <= {*ALL.events}
    assert ALL.with_rules([rule(event)]) == ALL


@pytest.mark.parametrize(
    ("asked", "events"),
    [
        ("s3:ObjectAccessed:*", []),
        ("s3:Scanner:*", []),
        ("s3:ObjectCreated:*", ["s3:ObjectCreated:*"]),
        ("s3:ObjectCreated:PutTagging", ["s3:ObjectTagging:*"]),
        ("s3:ObjectCreated:PutLegalHold", []),
        ("s3:ObjectTransition:*", ["s3:LifecycleTransition"]),
        ("s3:ObjectLifecycle:Expiration:Current", ["s3:LifecycleExpiration:*"]),
        ("s3:ObjectSynced:Create", ["s3:Replication:*"]),
    ],
)
def test_a_rule_needs_the_events_of_s3_that_have_its_names(asked: str, events: list[str]) -> None:
    assert Part.of([]).with_rules([rule(asked)]) == Part.of(events)


@pytest.mark.parametrize(
    ("narrow", "asked", "ends"),
    [
        (CREATED._replace(prefix="a/"), rule(*CREATED.events, prefix="a/b"), ("a/", "")),
        (CREATED._replace(prefix="a/b"), rule(*CREATED.events, prefix="a/c"), ("a/", "")),
        (CREATED._replace(suffix=".jpg"), rule(*CREATED.events, suffix="1.jpg"), ("", ".jpg")),
        (CREATED._replace(suffix=".jpg"), rule(*CREATED.events, suffix=".png"), ("", "g")),
        (
            CREATED._replace(prefix="a/"),
            rule(*CREATED.events, keys=Condition("key", ("a/b", "a/c"), "prefix")),
            ("a/", ""),
        ),
        (
            CREATED._replace(prefix="a/"),
            rule(*CREATED.events, keys=Condition("key", ("a/b",), "prefix", unless=True)),
            ("", ""),
        ),
        (CREATED._replace(prefix="a/"), rule("s3:ObjectAccessed:*"), ("a/", "")),
    ],
)
def test_ends_of_keys_are_widened_to_what_both_begin_with(
    narrow: Part, asked: Rule, ends: tuple[str, str]
) -> None:
    assert narrow.with_rules([asked]) == Part(CREATED.events, *ends)
