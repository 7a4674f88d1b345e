"""Rules in DynamoDB: active when the command that added them returns."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import msgspec
import pytest
from botocore.exceptions import ClientError

from bucketcast.delivery.compression import compress
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.rules.cost import cost
from bucketcast.state import rule_cache
from bucketcast.state.rule_cache import RuleCache
from bucketcast.state.rules import RuleExistsError, Rules, Version
from tests.unit.conftest import Watch
from tests.unit.moto_aws import WEBHOOK, refusal
from tests.unit.samples import matched

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PUT = "s3:ObjectCreated:Put"


def rule(prefix: str = "", bucket: str = "uploads", events: Sequence[str] = (PUT,)) -> Rule:
    return Rule(bucket=bucket, arn=WEBHOOK, events=tuple(events), prefix=prefix)


@pytest.fixture
def rules(dynamodb: "DynamoDBClient", state_table: str) -> Rules:
    return Rules(state_table, dynamodb)


def numbers(rules: Rules, buckets: Iterable[str]) -> dict[str, int]:
    """The change number of each bucket."""
    return {name: version.number for name, version in rules.versions(buckets).items()}


def test_same_rule_again_is_refused_and_changes_nothing(rules: Rules) -> None:
    rules.add(rule("a", events=["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]))
    before = rules.versions(["uploads"])
    with pytest.raises(RuleExistsError, match="uploads has this rule already: webhook:primary "):
        rules.add(rule("a", events=["s3:ObjectRemoved:*", "s3:ObjectCreated:*"]))
    assert len(rules.of("uploads")) == 1
    assert rules.versions(["uploads"]) == before


def test_rules_of_a_bucket_are_ordered_by_id(rules: Rules) -> None:
    made = [rule(f"{number:03}") for number in range(10)]
    for each in made:
        rules.add(each)
    assert rules.of("uploads") == sorted(made, key=lambda each: each.id)


def test_more_buckets_than_one_call_reads_are_all_read(rules: Rules) -> None:
    for number in (0, 99, 100, 249):
        rules.add(rule(bucket=f"b{number:03}"))
    buckets = [f"b{number:03}" for number in range(250)]
    assert numbers(rules, buckets) == {f"b{number:03}": 1 for number in (0, 99, 100, 249)}


def test_keys_that_a_busy_table_left_out_are_read_after_a_pause(
    rules: Rules, dynamodb: "DynamoDBClient", state_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    read = dynamodb.batch_get_item

    def busy(RequestItems: Any) -> Any:  # noqa: N803 - boto3's name
        calls.append("read")
        if len(calls) < 6:
            return {"Responses": {}, "UnprocessedKeys": RequestItems}
        return read(RequestItems=RequestItems)

    rules.add(rule())
    monkeypatch.setattr(dynamodb, "batch_get_item", busy)
    monkeypatch.setattr(time, "sleep", lambda _: calls.append("pause"))
    assert numbers(Rules(state_table, dynamodb), ["uploads"]) == {"uploads": 1}
    assert calls == ["read", "pause"] * 3 + ["read"]


def test_a_table_that_is_always_busy_is_an_error_in_time(
    rules: Rules, dynamodb: "DynamoDBClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ingest asked until it was killed, and began again with the same messages."""
    now = [1_000.0]

    def busy(RequestItems: Any) -> Any:  # noqa: N803 - boto3's name
        now[0] += 0.2
        return {"Responses": {}, "UnprocessedKeys": RequestItems}

    def pause(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(dynamodb, "batch_get_item", busy)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", pause)
    with pytest.raises(BucketcastError, match="the state table is too busy"):
        rules.versions([f"b{number}" for number in range(250)])
    assert now[0] - 1_000 < 7


class Read(Rules):
    """Rules that remember which buckets were read in full."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        super().__init__(table, client)
        self.read: list[str] = []
        self.reads: list[frozenset[str]] = []

    def in_order(self, bucket: str) -> list[Rule]:
        self.read.append(bucket)
        return super().in_order(bucket)

    def versions(self, buckets: Iterable[str]) -> dict[str, Version]:
        self.reads.append(frozenset(buckets))
        return super().versions(buckets)


@pytest.fixture
def read(dynamodb: "DynamoDBClient", state_table: str) -> Read:
    return Read(state_table, dynamodb)


UPLOADS = frozenset({"uploads"})


def test_cache_has_a_rule_at_once_and_reads_changed_buckets_only(read: Read) -> None:
    rulebook = RuleCache(read)
    assert rulebook(UPLOADS) == {}
    read.add(rule("a"))
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a").keys() == {WEBHOOK}
    index = rulebook(UPLOADS)["uploads"]
    assert rulebook(UPLOADS)["uploads"] is index
    assert read.read == ["uploads"]
    read.add(rule("b"))
    read.add(rule(bucket="photos"))
    both = rulebook(frozenset({"uploads", "photos"}))
    assert matched(both["uploads"], PUT, "b").keys() == {WEBHOOK}
    assert matched(both["photos"], PUT, "x").keys() == {WEBHOOK}
    read.remove([rule("a"), rule("b")])
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a") == {}
    assert Counter(read.read) == {"uploads": 3, "photos": 1}


def test_cache_forgets_what_was_used_last_a_long_time_ago(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_cache, "MOST_KEPT_RULES_BYTES", 3 * cost([rule()]).memory)
    buckets = [f"bucket-{number}" for number in range(5)]
    for each in buckets:
        read.add(rule(bucket=each))
    rulebook = RuleCache(read)
    for each in [*buckets[:3], buckets[0], *buckets[3:], buckets[0]]:
        assert matched(rulebook(frozenset({each}))[each], PUT, "a").keys() == {WEBHOOK}
    assert Counter(read.read)[buckets[0]] == 1, "it was in use all the time"
    rulebook(frozenset(buckets[:2]))
    assert Counter(read.read)[buckets[1]] == 2, "three more were read since"


def test_of_a_batch_with_too_many_rules_the_buckets_with_most_wait_by_turns(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many buckets a user has the right to: another's few rules are read all the same."""
    buckets = {"uploads": 1, "b-most": 3, "c-most": 3, "d-most": 3}
    for bucket, number in buckets.items():
        for each in range(number):
            read.add(rule(f"{each}", bucket))
    monkeypatch.setattr(rule_cache, "MOST_KEPT_RULES_BYTES", 6 * cost([rule("0")]).memory)
    rulebook, heard = RuleCache(read), Counter[str]()
    for _ in range(6):
        *two, _, (last, waits) = rulebook(frozenset(buckets)).items()
        with pytest.raises(BucketcastError, match=rf"{last} wait: .* 1\d,.* bytes; allowed .* 9,"):
            matched(waits, PUT, "0")
        heard.update(bucket for bucket, index in two if matched(index, PUT, "0"))
    assert heard == {"uploads": 6, "b-most": 2, "c-most": 2, "d-most": 2}


def test_rules_that_cannot_be_read_concern_their_own_bucket_alone(
    read: Read, dynamodb: "DynamoDBClient", state_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a condition that only a newer release knows."""
    now = 0.0
    monkeypatch.setattr(rule_cache, "time", SimpleNamespace(monotonic=lambda: now))
    read.add(rule("a"))
    read.add(rule(bucket="photos"))
    page = {"partition": {"S": "uploads"}, "key": {"S": "page#000"}, "written": {"N": "1"}}
    unknown = {"rules": {"B": compress(b'[{"bucket":"uploads","conditions":1}]')}}
    dynamodb.put_item(TableName=state_table, Item={**page, **unknown})
    rulebook = RuleCache(read)
    for _ in range(2):
        both = rulebook(frozenset({"uploads", "photos"}))
        assert matched(both["photos"], PUT, "x").keys() == {WEBHOOK}
        with pytest.raises(BucketcastError, match="the rules of uploads cannot be read: "):
            matched(both["uploads"], PUT, "a")
    assert Counter(read.read)["uploads"] == 1, "not again for each batch"
    none = {"rules": {"B": compress(b"[]")}}
    dynamodb.put_item(TableName=state_table, Item={**page, **none})
    now = 11.0
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a") == {}, "it was read again"


def test_while_the_table_cannot_be_read_no_bucket_has_rules(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though their numbers can be."""
    read.add(rule("a"))
    refused = refusal("InternalServerError", "Query")
    monkeypatch.setattr(read, "in_order", Mock(side_effect=refused))
    with pytest.raises(ClientError, match="InternalServerError"):
        RuleCache(read)(UPLOADS)


def test_change_that_meets_another_comes_after_it(
    rules: Rules, dynamodb: "DynamoDBClient", watch: Watch
) -> None:
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
    answer: Any = {"Error": {"Code": "Canceled"}, "CancellationReasons": reasons}
    conflict = dynamodb.exceptions.TransactionCanceledException(answer, "TransactWriteItems")
    watched = watch(dynamodb, "transact_write_items", *[conflict] * 3)
    rules.add(rule("in/"))
    assert watched.call_count == 4
    assert [each.prefix for each in rules.of("uploads")] == ["in/"]


def test_all_rules_are_exchanged_at_once_and_keep_their_order(rules: Rules) -> None:
    many = [rule(f"user-{number:05}/") for number in reversed(range(10_000))]
    rules.change("uploads", lambda _: many)
    assert rules.in_order("uploads") == many
    assert numbers(rules, ["uploads"]) == {"uploads": 1}
    rules.change("uploads", lambda _: [rule("a")])
    assert rules.of("uploads") == [rule("a")]
    rules.change("uploads", lambda _: [])
    assert rules.of("uploads") == []
    assert numbers(rules, ["uploads"]) == {"uploads": 3}


def test_a_change_that_changes_nothing_is_none(rules: Rules) -> None:
    rules.add(rule("a"))
    rules.change("uploads", lambda stored: stored)
    assert numbers(rules, ["uploads"]) == {"uploads": 1}


def test_a_change_meanwhile_is_not_lost(rules: Rules) -> None:
    rules.add(rule("a"))
    reads: list[list[str]] = []

    def edit(stored: list[Rule]) -> list[Rule]:
        reads.append([each.prefix for each in stored])
        if len(reads) == 1:
            rules.add(rule("meanwhile"))
        return [*stored, rule("b")]

    rules.change("uploads", edit)
    assert reads == [["a"], ["a", "meanwhile"]]
    assert [each.prefix for each in rules.in_order("uploads")] == ["a", "meanwhile", "b"]


def test_more_rules_than_an_item_holds_lie_in_several(
    rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.state.rule_items._MAX_ITEM", 400)
    many = [rule(f"{number:03}" * 9) for number in range(60)]
    rules.change("uploads", lambda _: many)
    assert rules.in_order("uploads") == many
    rules.remove(many[1:])
    assert rules.in_order("uploads") == many[:1]
    monkeypatch.setattr("bucketcast.state.rule_items._MAX_ITEMS", 2)
    with pytest.raises(BucketcastError, match="rules of the bucket take"):
        rules.change("uploads", lambda _: [rule(f"{number:03}" * 9) for number in range(999)])


def test_rules_of_more_than_16_mib_are_refused_however_well_they_compress(rules: Rules) -> None:
    rules.add(rule("a"))
    with pytest.raises(BucketcastError, match=r"17 rules .* take 17,.* allowed are 16,777,216"):
        rules.change("uploads", lambda _: [rule(f"{n:02}" + "x" * 1_000_000) for n in range(17)])
    assert rules.of("uploads") == [rule("a")]


def test_rules_just_within_16_mib_are_read_again_from_all_their_items(
    rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.state.rule_items._MAX_ITEM", 400)
    few = [rule(f"{number:03}" * 9) for number in range(20)]
    pieces = sum(len(msgspec.json.encode(each)) + 2 for each in few)
    monkeypatch.setattr("bucketcast.state.rule_items.MOST_BUCKET_RULES_TEXT_BYTES", pieces)
    rules.change("uploads", lambda _: few)
    assert rules.in_order("uploads") == few


@pytest.mark.parametrize("items", [1, 2])
def test_rules_that_unpack_to_more_than_16_mib_are_not_opened(
    rules: Rules, dynamodb: "DynamoDBClient", state_table: str, items: int
) -> None:
    """They would take all of the memory of ingest."""
    bomb = compress(b"[" + b" " * ((16 << 20) // items) + b"]")
    version = {"version": {"N": "1"}, "written": {"N": "1"}, "pages": {"N": str(items)}}
    stored = {"#version": version} | {
        f"page#00{number}": {"written": {"N": "1"}, "rules": {"B": bomb}} for number in range(items)
    }
    for key, item in stored.items():
        whole: Any = {"partition": {"S": "uploads"}, "key": {"S": key}, **item}
        dynamodb.put_item(TableName=state_table, Item=whole)
    with pytest.raises(ValueError, match="unpacks to more than"):
        rules.of("uploads")


def test_a_read_that_meets_a_change_gives_one_of_both(
    rules: Rules, dynamodb: "DynamoDBClient", state_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page was read before the change, and the version after it."""
    rules.add(rule("a"))
    before = dynamodb.scan(TableName=state_table)["Items"]
    rules.add(rule("later"))
    after, real = dynamodb.scan(TableName=state_table)["Items"], dynamodb.get_paginator
    pages = [item for item in before if item["key"]["S"].startswith("page#")]
    torn = [Mock(**{"paginate.return_value": [{"Items": [*pages, *versions(after)]}]})]
    get = Mock(side_effect=lambda name: torn.pop() if torn else real(name))
    monkeypatch.setattr(dynamodb, "get_paginator", get)
    assert [each.prefix for each in rules.in_order("uploads")] == ["a", "later"]
    assert get.call_count == 2


def versions(items: Iterable[Any]) -> list[Any]:
    return [item for item in items if item["key"]["S"] == "#version"]
