"""From objects to messages and back: exactly what the rules take, and nothing that SQS refuses."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from glue_jobs.backfill.destination import Destination, unknown
from glue_jobs.backfill.messages import MOST, Counts, at_once, matched, packed
from glue_jobs.events import Object, created

MIRROR = "arn:minio:sqs::mirror:postgresql"
QUEUE = "https://sqs/1/Bucketcast-postgres-mirror"
SINCE = 1_773_480_413_589
_refused = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]").search
"""What no message may hold, by the API reference of SQS."""

KEYS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\x1f\ufffe\uffff\U0001f408/+% "),
    min_size=1,
    max_size=60,
)
OBJECTS = st.lists(
    st.builds(
        Object,
        st.just("uploads"),
        KEYS | KEYS.map("photos/{}".format),
        st.sampled_from(["null", "v1"]),
        st.integers(0, 2**40),
        st.sampled_from(["d41d8", "d41d8-2"]),
        st.integers(0, SINCE),
        st.sampled_from(["STANDARD", "GLACIER"]),
    ),
    max_size=30,
)


def rule(*events: str, **more: Any) -> Rule:
    return Rule(bucket="uploads", arn=MIRROR, events=events or ("s3:ObjectCreated:*",), **more)


def to(*rules: Rule, end: str = "") -> Destination:
    return Destination(MIRROR, f"{QUEUE}{end}", rules)


def sent(
    objects: list[Object], destination: Destination, counts: Counts | None = None
) -> list[Delivery]:
    """What a target would find in the messages about these objects."""
    deliveries = matched(objects, destination.rules, counts or Counts())
    found: list[Delivery] = []
    for message in packed(deliveries, destination, SINCE, 7):
        entries = unpack(message.body)
        assert message.queue == QUEUE
        assert {each.created for each in entries} == {SINCE}
        assert 1 <= message.events == len(entries) <= 7
        found += entries
    return found


@given(OBJECTS)
def test_messages_have_exactly_the_objects_that_a_rule_matches(objects: list[Object]) -> None:
    counts, photos = Counts(), rule(prefix="photos/")
    wanted = [each for each in objects if each.key.startswith("photos/")]
    found = sent(objects, to(photos, rule(suffix=".never")), counts)
    assert found == [Delivery(photos.id, created(each), created=SINCE) for each in wanted]
    assert counts == Counts(len(objects), len(wanted), 0)


@given(OBJECTS, st.sampled_from(["", ".fifo"]))
def test_no_key_makes_a_message_that_sqs_refuses(objects: list[Object], end: str) -> None:
    destination = to(rule(), end=end)
    for message in packed(matched(objects, destination.rules, Counts()), destination, SINCE):
        assert not _refused(message.body)


@given(OBJECTS)
def test_an_ordered_queue_gets_one_message_per_event(objects: list[Object]) -> None:
    destination = to(rule(), end=".fifo")
    messages = list(packed(matched(objects, destination.rules, Counts()), destination, SINCE))
    assert [each.events for each in messages] == [1] * len(objects)
    assert [each.token for each in messages] == [created(each).id for each in objects]


def test_objects_created_by_other_events_than_the_rules_are_counted() -> None:
    objects = [Object("uploads", "a", None, 1, etag) for etag in ("x", "x-2", "y", "y-3")]
    counts = Counts()
    messages = to(rule("s3:ObjectCreated:Copy", "s3:ObjectCreated:Put"), rule(prefix="none/"))
    assert len(sent(objects, messages, counts)) == 2
    assert counts == Counts(4, 2, 2)


def test_a_rule_with_a_name_sends_a_copy_of_its_own() -> None:
    counts = Counts()
    found = sent([Object("uploads", "a")], to(rule(), rule(name="mine")), counts)
    assert {each.rule for each in found} == {rule().id, "mine"}
    assert counts == Counts(1, 1, 0)


def test_conditions_are_checked_as_far_as_the_listing_allows() -> None:
    cold = Condition(on="storage_class", values=("GLACIER",))
    large = Condition(on="size", how="range", values=("1KiB-",))
    tagged = Condition(on="tag:class", values=("public",))
    objects = [
        Object("uploads", "cold", None, 2_048, storage_class="GLACIER"),
        Object("uploads", "small", None, 1, storage_class="GLACIER"),
        Object("uploads", "warm", None, 2_048, storage_class="STANDARD"),
        Object("uploads", "unknown"),
    ]
    found = sent(objects, to(rule(conditions=(cold, large, tagged))))
    assert [each.event.key for each in found] == ["cold", "unknown"]


def test_conditions_on_facts_that_no_listing_has_are_noted() -> None:
    about = ("tag:class", "metadata:x-amz-meta-owner", "content_type", "principal", "size")
    rules = tuple(rule(conditions=(Condition(on=on, values=("1-",)),)) for on in about)
    assert list(unknown(rules)) == [
        f"a listing does not say {', '.join(sorted(about[:3]))}: conditions on that counted as met",
        "nobody knows principal of an old upload: conditions on that counted as not met",
    ]
    assert not list(unknown((rule("s3:ObjectRemoved:*", conditions=rules[0].conditions), rule())))


@pytest.mark.parametrize(
    ("rate", "most"), [(0, MOST), (1, 1), (100, 10), (1_000, 100), (1_000_000, MOST)]
)
def test_a_call_has_no_more_than_the_rate_of_a_second(rate: int, most: int) -> None:
    assert at_once(rate) == most
