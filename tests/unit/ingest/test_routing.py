"""From messages of the ingress queue to what each target gets."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from bucketcast.delivery.messages import Item
from bucketcast.destination import Destination
from bucketcast.event import Event
from bucketcast.ingest.routing import Wants
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import NOTHING, Condition, Fact
from bucketcast.state.rule_cache import UnreadableRules
from tests.unit.ingest.routed import batches, route
from tests.unit.samples import message, record

HOOK = "arn:minio:sqs::hook:webhook"
TABLE = "arn:minio:sqs::table:postgresql"


def rule(bucket: str = "uploads", arn: str = HOOK, prefix: str = "") -> Rule:
    return Rule(bucket=bucket, arn=arn, events=("s3:ObjectCreated:*",), prefix=prefix)


class Rulebook:
    """Rules that do not change; records the buckets that were requested."""

    def __init__(self, *rules: Rule) -> None:
        self.indexes = {
            bucket: RuleIndex(each for each in rules if each.bucket == bucket)
            for bucket in {each.bucket for each in rules}
        }
        self.requested: list[frozenset[str]] = []

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        self.requested.append(buckets)
        return {bucket: self.indexes[bucket] for bucket in buckets & self.indexes.keys()}


def contents(batch: Sequence[Item]) -> list[tuple[str, str, str]]:
    return [
        (each.delivery.event.key, each.delivery.rule, each.received.message.id) for each in batch
    ]


def put(key: str, bucket: str = "uploads") -> Mapping[str, object]:
    return record(key, s3__bucket__name=bucket)


def test_a_bucket_with_unreadable_rules_blocks_only_its_own_events() -> None:
    rulebook = Rulebook(rule(), rule("photos"))
    rulebook.indexes["photos"] = UnreadableRules("why")
    routed = route(
        [
            ("1", message(put("a"))),
            ("2", message(put("b"), put("c", "photos"))),
            ("3", message(put("d", "nobody"))),
        ],
        rulebook,
    )
    assert {arn: contents(box) for arn, box in batches(routed).items()} == {
        HOOK: [("a", rule().id, "1"), ("b", rule().id, "2")]
    }
    ((item, error),) = routed.failed
    assert item.delivery.event.key == "c"
    assert str(error) == "why"


class Facts:
    """What objects are said to have; records what was requested."""

    def __init__(self, tags: Mapping[str, str], **facts: Fact) -> None:
        self._facts = {HOOK if name == "hook" else TABLE: fact for name, fact in facts.items()}
        self._tags = tags
        self.requested: list[tuple[str, Fact]] = []
        self.current: dict[str, str] = {}
        self.current_requests: list[tuple[str, str | None, Fact]] = []

    def wants(self, to: Destination) -> Wants:
        return Wants(self._facts.get(to.arn, NOTHING), is_mirror=to.arn == TABLE)

    def is_self_caused(self, event: Event) -> bool:
        return event.principal == "ours"

    def enrich(
        self,
        requested: Sequence[tuple[Event, Fact]],
        seconds: float,  # noqa: ARG002
    ) -> list[Event | None]:
        self.requested += [(event.key, fact) for event, fact in requested]
        return [
            replace(
                event, tags=[("class", self._tags[event.key])], metadata={"x-amz-meta-by": "ann"}
            )
            if event.key in self._tags
            else None
            for event, _ in requested
        ]

    def may_reveal_version(self, event: Event) -> bool:
        return event.name == "s3:ObjectRemoved:Delete" and bool(event.version_id)

    def read_current(
        self,
        requested: Sequence[tuple[Event, Fact]],
        seconds: float,  # noqa: ARG002
    ) -> list[Event | None]:
        self.current_requests += [(event.key, event.version_id, fact) for event, fact in requested]
        return [
            replace(
                event,
                name="s3:ObjectCreated:Put",
                version_id=self.current[event.key],
                tags=[("class", self._tags[event.key])] if fact & Fact.TAGS else None,
            )
            if event.key in self.current
            else None
            for event, fact in requested
        ]


def tagged(arn: str, tag: str = "public") -> Rule:
    return Rule(
        bucket="uploads",
        arn=arn,
        events=("s3:ObjectCreated:*",),
        prefix="in/",
        conditions=(Condition("tag:class", (tag,)),),
    )


def test_objects_are_read_once_a_batch_and_only_for_rules_that_need_it() -> None:
    facts = Facts({"in/a": "public", "in/b": "private"})
    routed = route(
        [("1", message(put("in/a"), put("out"))), ("2", message(put("in/b")))],
        Rulebook(tagged(HOOK), rule(arn=TABLE)),
        facts,
    )
    assert facts.requested == [("in/a", Fact.TAGS), ("in/b", Fact.TAGS)]
    assert {arn: [key for key, *_ in contents(box)] for arn, box in batches(routed).items()} == {
        HOOK: ["in/a"],
        TABLE: ["in/a", "out", "in/b"],
    }


def test_target_gets_its_facts_also_if_its_rule_needs_others() -> None:
    facts = Facts({"in/a": "public"}, hook=Fact.HEAD)
    route([("1", message(put("in/a"), put("out")))], Rulebook(tagged(HOOK), rule(arn=TABLE)), facts)
    assert facts.requested == [("in/a", Fact.TAGS | Fact.HEAD)]


@pytest.mark.parametrize(
    ("wanted", "record"),
    [
        (NOTHING, (None, None)),
        (Fact.HEAD, ({"x-amz-meta-by": "ann"}, None)),
        (Fact.TAGS, (None, [("class", "public")])),
        (Fact.HEAD | Fact.TAGS, ({"x-amz-meta-by": "ann"}, [("class", "public")])),
    ],
)
@pytest.mark.parametrize("other", [None, tagged(TABLE)], ids=["alone", "beside another's rule"])
def test_a_record_has_what_its_target_wants_whatever_rules_others_have(
    wanted: Fact, record: tuple[Any, Any], other: Rule | None
) -> None:
    """The other rule needs tags, and its target wants all there is."""
    facts = Facts({"in/a": "public"}, hook=wanted, table=Fact.HEAD | Fact.TAGS)
    rulebook = Rulebook(*([rule(), other] if other else [rule()]))
    routed = batches(route([("1", message(put("in/a")))], rulebook, facts))
    (event,) = [each.delivery.event for each in routed[HOOK]]
    assert (event.metadata, event.tags) == record
    if other:
        (event,) = [each.delivery.event for each in routed[TABLE]]
        assert (event.metadata, event.tags) == ({"x-amz-meta-by": "ann"}, [("class", "public")])


def test_an_event_whose_object_cannot_be_read_waits_alone() -> None:
    facts = Facts({"in/a": "public"})
    routed = route(
        [("1", message(put("in/a"), put("in/x"), put("out")))],
        Rulebook(tagged(HOOK), rule(arn=TABLE)),
        facts,
    )
    ((item, error),) = routed.failed
    assert item.delivery.event.key == "in/x"
    assert str(error) == "S3 could not be asked about an object of uploads"
    assert {arn: [key for key, *_ in contents(box)] for arn, box in batches(routed).items()} == {
        HOOK: ["in/a"],
        TABLE: ["in/a", "out"],
    }
    assert len(routed.matches) == 2


def test_events_of_our_own_reads_are_dropped_and_not_enriched() -> None:
    facts = Facts({}, table=Fact.TAGS)
    ours = record("in/a", userIdentity={"principalId": "ours"})
    routed = route([("1", message(ours))], Rulebook(rule(arn=TABLE)), facts)
    assert (routed.batches, routed.failed, facts.requested) == ({}, [], [])


def removed(key: str, version: str | None, sequencer: str = "1") -> Mapping[str, object]:
    return record(
        key,
        eventName="ObjectRemoved:Delete",
        s3__object__versionId=version or "",
        s3__object__sequencer=sequencer,
    )


def everything(arn: str, **more: Any) -> Rule:
    both = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
    return Rule(bucket="uploads", arn=arn, events=both, **more)


def contents_of(batch: Sequence[Item]) -> list[tuple[str, str | None, str]]:
    """Name, version and message of all that goes to a target."""
    found = [(each.delivery.event, each.received.message.id) for each in batch]
    return [(one.name.rpartition(":")[2], one.version_id, origin) for one, origin in found]


def test_each_key_is_looked_at_once_a_batch_for_its_last_removal() -> None:
    facts = Facts({})
    messages = [
        ("1", message(removed("in/a", "v9", "9"), removed("in/a", "v8", "8"), put("in/a"))),
        ("2", message(removed("in/a", "v10", "0A"), removed("in/b", None))),
    ]
    route(messages, Rulebook(everything(TABLE)), facts)
    assert facts.current_requests == [("in/a", "v10", Fact.HEAD)]


def test_no_key_is_looked_at_without_a_mirror_that_gets_the_removal() -> None:
    facts = Facts({})
    rulebook = Rulebook(everything(HOOK), everything(TABLE, prefix="in/"))
    routed = route([("1", message(removed("out", "v2"), removed("in/c", None)))], rulebook, facts)
    assert facts.current_requests == []
    assert contents_of(batches(routed)[TABLE]) == [("Delete", "", "1")]


def test_revealed_version_goes_to_mirrors_whose_rules_match_it() -> None:
    """The rule of the removals does not ask for puts, and the other for those of a tag."""
    facts = Facts({"in/a": "public"})
    facts.current = {"in/a": "v1"}
    removals = Rule(bucket="uploads", arn=TABLE, events=("s3:ObjectRemoved:*",))
    rulebook = Rulebook(removals, tagged(TABLE))
    routed = route([("1", message(removed("in/a", "v2")))], rulebook, facts)
    assert facts.current_requests == [("in/a", "v2", Fact.HEAD | Fact.TAGS)]
    assert contents_of(batches(routed)[TABLE]) == [("Delete", "v2", "1"), ("Put", "v1", "1")]
    routed = route([("1", message(removed("in/a", "v2")))], Rulebook(removals), facts)
    assert contents_of(batches(routed)[TABLE]) == [("Delete", "v2", "1")]


@pytest.mark.parametrize("wanted", [NOTHING, Fact.TAGS])
def test_revealed_version_has_the_tags_that_its_own_mirror_wants(wanted: Fact) -> None:
    """And none that only another target's rule asked for."""
    facts = Facts({"in/a": "public"}, table=wanted)
    facts.current = {"in/a": "v1"}
    others = [] if wanted else [tagged(HOOK)]
    rulebook = Rulebook(everything(TABLE), *others)
    routed = route([("1", message(removed("in/a", "v2")))], rulebook, facts)
    _, put_again = batches(routed)[TABLE]
    assert put_again.delivery.event.version_id == "v1"
    assert put_again.delivery.event.tags == ([("class", "public")] if wanted else None)
