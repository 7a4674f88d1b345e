"""What S3 sends of a bucket, and rules that ask for more."""

from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

import botocore.session
import pytest

from bucketcast.event.names import FAMILIES, SINGLES, WORDS, translate
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition, How
from bucketcast.rules.sent_events import EVENTBRIDGE, EVENTS, WHOLE, Part, notified_events
from bucketcast.sources import eventbridge
from tests.unit import samples

_S3: Any = botocore.session.get_session().get_service_model("s3")
OF_S3 = {*_S3.shape_for("Event").enum}

CREATED = Part.of(notified_events("put"))


def rule(*events: str, prefix: str = "", suffix: str = "", keys: Condition | None = None) -> Rule:
    conditions = (keys,) if keys else ()
    return Rule(
        bucket="b", arn="a", events=events, prefix=prefix, suffix=suffix, conditions=conditions
    )


def test_names_are_those_of_s3() -> None:
    taken = set[str]()
    for name in SINGLES | FAMILIES.keys() | WORDS.keys():
        with suppress(ValueError):
            taken.update(notified_events(name))
    assert taken == OF_S3
    assert all(notified_events(name) == (name,) for name in OF_S3)


def test_eventbridge_gets_what_its_source_reads() -> None:
    names = {f"s3:{name}" for name in eventbridge._NAMES.values()} | {"s3:LifecycleExpiration:*"}
    read = {event for event in EVENTS if any(fnmatchcase(name, event) for name in names)}
    assert Part.of(read) == EVENTBRIDGE


@pytest.mark.parametrize("asked", sorted(SINGLES | FAMILIES.keys()))
def test_an_event_that_a_rule_matches_is_sent_or_missed(asked: str) -> None:
    """Of all that S3 can send, also what it adds to a family, matched as ingest does."""
    wanted = rule(asked, prefix="in/")
    for single in {each.replace("*", "New") for each in OF_S3}:
        name, original = translate(single)
        seen = [
            samples.event("in/a", bucket="b", name=name, original=original, version_id=version)
            for version in (None, "v")
        ]
        if any(map(RuleIndex([wanted]).match, seen)):
            others = Part.of(OF_S3 - {each for each in OF_S3 if fnmatchcase(single, each)})
            wider = others.with_rules([wanted])
            assert wider != others
            assert any(fnmatchcase(single, each) for each in wider.events)
            assert wider.with_rules([wanted]) == wider == Part.of(wider.events)
    assert WHOLE.with_rules([wanted]) == WHOLE


@pytest.mark.parametrize(
    ("asked", "events"),
    [
        ("s3:ObjectAccessed:*", []),
        ("s3:Scanner:*", []),
        ("s3:ObjectRemoved:NoOP", []),
        ("s3:ObjectCreated:PutLegalHold", []),
        ("s3:ObjectCreated:Put", ["s3:ObjectCreated:*"]),
        ("s3:ObjectCreated:PutTagging", ["s3:ObjectTagging:*"]),
        ("s3:ObjectRemoved:*", ["s3:LifecycleExpiration:*", "s3:ObjectRemoved:*"]),
        ("s3:ObjectTransition:*", ["s3:LifecycleTransition"]),
        ("s3:ObjectLifecycle:Expiration:Current", ["s3:LifecycleExpiration:*"]),
    ],
)
def test_a_rule_needs_the_events_of_s3_that_have_its_names(asked: str, events: list[str]) -> None:
    assert Part.of([]).with_rules([rule(asked)]) == Part.of(events)


def created(*keys: str, how: How = "prefix", unless: bool = False, **ends: str) -> Rule:
    """Return a rule for what is created, with a condition on keys if there are any."""
    condition = Condition("key", keys, how, unless=unless) if keys else None
    return rule(*CREATED.events, keys=condition, **ends)


@pytest.mark.parametrize(
    ("narrow", "asked", "ends"),
    [
        (("a/", ""), created(prefix="a/b"), ("a/", "")),
        (("a/b", ""), created(prefix="a/c"), ("a/", "")),
        (("", ".jpg"), created(suffix="1.jpg"), ("", ".jpg")),
        (("", ".jpg"), created(suffix=".png"), ("", "g")),
        (("a/", ""), created("a/b", "a/c"), ("a/", "")),
        (("a/", ""), created("a/b", unless=True), ("", "")),
        (("a/", ""), created("a/b", prefix="*b"), ("a/", "")),
        (("a/b", ""), created(r"a/bc?\d", "a/b.*", how="regex"), ("a/b", "")),
        (("a/b", ""), created("a/b|c", "a/b", how="regex"), ("", "")),
        (("a/b", ""), created(prefix="a/?"), ("a/", "")),
        (("", ".jpg"), created(suffix="*jpg"), ("", "jpg")),
        (("a/", ""), rule("s3:ObjectAccessed:*"), ("a/", "")),
    ],
)
def test_ends_of_keys_are_widened_to_what_both_begin_with(
    narrow: tuple[str, str], asked: Rule, ends: tuple[str, str]
) -> None:
    part = Part(CREATED.events, *narrow)
    assert part.with_rules([asked]) == Part(CREATED.events, *ends)
