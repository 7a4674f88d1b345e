"""Objects become messages: those that the rules match, and no character that SQS refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.mirror.synthetic import Object, created, time_of
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from glue_jobs.backfill.destination import Destination, fact_notes, origin_notes
from glue_jobs.backfill.messages import (
    MAX_EVENTS,
    events_per_message,
    match,
    pack_deliveries,
)
from tests.unit.samples import told

MIRROR = "arn:minio:sqs::mirror:postgresql"
QUEUE = "https://sqs/1/Bucketcast-postgres-mirror"
SINCE = 1_773_480_413_589

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


class Count:
    """An accumulator of one task."""

    value = 0

    def add(self, more: int) -> None:
        self.value += more


def counts() -> Any:
    """Return those of the objects and of the matched ones."""
    return Count(), Count()


def sent(objects: list[Object], destination: Destination, counted: Any = ()) -> list[Delivery]:
    """Return the deliveries that a target finds in the messages of these objects."""
    deliveries = match(map(created, objects), destination.rules, *(counted or counts()))
    unpacked: list[Delivery] = []
    for message in pack_deliveries(deliveries, destination, SINCE, 7):
        entries = unpack(message.body)
        assert {entry.event.listed for entry in entries} == {time_of(SINCE)}
        assert 1 <= message.events == len(entries) <= 7
        unpacked += entries
    return unpacked


@given(OBJECTS)
def test_messages_have_exactly_the_objects_that_a_rule_matches(objects: list[Object]) -> None:
    counted, photos = counts(), rule(prefix="photos/")
    wanted = [found for found in objects if found.key.startswith("photos/")]
    deliveries = sent(objects, to(photos, rule(suffix=".never")), counted)
    assert [replace(each, event=told(each.event)) for each in deliveries] == [
        Delivery(photos.id, replace(told(created(found)), listed=time_of(SINCE)))
        for found in wanted
    ]
    assert [each.value for each in counted] == [len(objects), len(wanted)]


@given(OBJECTS)
def test_an_ordered_queue_gets_one_message_per_event(objects: list[Object]) -> None:
    destination = to(rule(), end=".fifo")
    messages = list(
        pack_deliveries(
            match(map(created, objects), destination.rules, *counts()), destination, SINCE
        )
    )
    assert [message.events for message in messages] == [1] * len(objects)
    assert [message.token for message in messages] == [created(found).id for found in objects]


def test_a_rule_with_a_name_sends_a_copy_of_its_own() -> None:
    counted = counts()
    deliveries = sent([Object("uploads", "a")], to(rule(), rule(name="mine")), counted)
    assert {delivery.rule for delivery in deliveries} == {rule().id, "mine"}
    assert [each.value for each in counted] == [1, 1]


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
    deliveries = sent(objects, to(rule(conditions=(cold, large, tagged))))
    assert [delivery.event.key for delivery in deliveries] == ["cold", "unknown"]


def test_conditions_on_facts_that_no_listing_has_are_noted() -> None:
    subjects = ("tag:class", "metadata:x-amz-meta-owner", "content_type", "principal", "size")
    rules = tuple(rule(conditions=(Condition(on=on, values=("1-",)),)) for on in subjects)
    facts = ", ".join(sorted(subjects[:3]))
    assert [*fact_notes(rules), *origin_notes(rules)] == [
        f"a listing does not show {facts}: conditions on that counted as met",
        "principal of an old upload is unknown: conditions on that counted as not met",
    ]
    removals = (rule("s3:ObjectRemoved:*", conditions=rules[0].conditions), rule())
    assert not list(fact_notes(removals))


@pytest.mark.parametrize(
    ("rate", "events"),
    [(0, MAX_EVENTS), (1, 1), (100, 10), (1_000, 100), (1_000_000, MAX_EVENTS)],
)
def test_a_call_sends_at_most_the_events_of_a_second(rate: int, events: int) -> None:
    assert events_per_message(rate) == events
