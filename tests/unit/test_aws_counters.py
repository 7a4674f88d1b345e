"""Counters: one call a batch, and no event waits for one."""

import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.aws.counters import Counters, Counts, HourCounts, Last

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HOOK = "arn:minio:sqs::primary:webhook"
OTHER = "arn:minio:sqs::other:webhook"


def test_counts_add_up_by_target(dynamodb: "DynamoDBClient", rules_table: str) -> None:
    table = Counters(rules_table, lambda: dynamodb)
    table.add(HOOK, Counts(sent=10, failed=2))
    table.add(HOOK, Counts(sent=1, dead=3))
    table.add("arn:minio:sqs::gone:webhook", Counts(skipped=4))
    assert table.read() == {
        HOOK: Counts(sent=11, failed=2, dead=3),
        "arn:minio:sqs::gone:webhook": Counts(skipped=4),
    }


class Table:
    """A table that does not answer while it is `down`, and counts the calls."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.calls = 0
        self.down = True

    def update_item(self, **given: Any) -> Any:
        self.calls += 1
        if self.down:
            raise EndpointConnectionError(endpoint_url="https://dynamodb")
        return self.client.update_item(**given)


def test_a_batch_is_one_call_and_an_empty_one_none(
    dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    names: list[str] = []

    def count(model: Any, **_: Any) -> None:
        names.append(model.name)

    dynamodb.meta.events.register("before-call", count)
    table = Counters(rules_table, lambda: dynamodb)
    table.add(HOOK, Counts(sent=10_000, failed=1, dead=1))
    table.add(HOOK, Counts())
    dynamodb.meta.events.unregister("before-call", count)
    assert names == ["UpdateItem"]


def test_counts_that_could_not_be_written_are_written_later(
    dynamodb: "DynamoDBClient", rules_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table: Any = Table(dynamodb)
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    counters = Counters(rules_table, lambda: table)
    reader = Counters(rules_table, lambda: dynamodb)
    for _ in range(3):
        counters.add(HOOK, Counts(sent=1))
        counters.add(OTHER, Counts(sent=10))
    assert table.calls == 1, "it is left alone for a while"
    now[0] += 61
    table.down = False
    counters.add(HOOK, Counts(failed=2))
    assert table.calls == 3, "each item is written once"
    assert reader.read() == {HOOK: Counts(sent=3, failed=2), OTHER: Counts(sent=30)}


def test_a_batch_of_one_hour_is_one_call(dynamodb: "DynamoDBClient", rules_table: str) -> None:
    names: list[str] = []

    def count(model: Any, **_: Any) -> None:
        names.append(model.name)

    dynamodb.meta.events.register("before-call", count)
    last = Last(1, 2, "Error", "why", 3)
    Counters(rules_table, lambda: dynamodb).add_hours(HOOK, {7: HourCounts(5, 4, 1)}, last)
    dynamodb.meta.events.unregister("before-call", count)
    assert names == ["UpdateItem"]
    assert Counters(rules_table, lambda: dynamodb).last() == {HOOK: last}


def test_the_last_success_is_the_latest_whatever_hour_the_events_came_in(
    dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    """What waited for days is tried after newer events, and its hours are added up at any time."""
    table = Counters(rules_table, lambda: dynamodb)
    one = HourCounts(received=1, sent=1)
    table.add_hours(HOOK, {9: one}, Last(success=100, failure=50, error="Throttled", oldest=90))
    table.add_hours(HOOK, {5: one}, Last(success=300, oldest=60))
    table.add_hours(HOOK, {7: one}, Last(success=200, failure=40, error="NotConnected", oldest=70))
    last = Last(300, 50, "Throttled", "", 60)
    assert table.last() == {HOOK: last}
    for hour in (5, 7, 9):
        assert table.fold(HOOK, hour, one)
        assert table.last() == {HOOK: last}


def test_an_hour_that_changes_while_it_is_added_up_stays(
    dynamodb: "DynamoDBClient", rules_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, other = (Counters(rules_table, lambda: dynamodb) for _ in range(2))
    one = HourCounts(received=1, sent=1)
    table.add_hours(HOOK, {9: one}, Last())
    read = table._items.partition.get

    def changed(name: str) -> Any:
        found = read(name)
        if name.endswith(" 9"):
            other.add_hours(HOOK, {9: HourCounts(dead=1)}, Last())
        return found

    monkeypatch.setattr(table._items.partition, "get", changed)
    assert not table.fold(HOOK, 9, one)
    assert other.read() == {HOOK: Counts(sent=1, dead=1)}


def test_counts_that_there_is_no_time_for_are_written_later(
    dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    """A batch may have events of each hour of a fortnight."""
    table, left = Counters(rules_table, lambda: dynamodb), [2]

    def is_late() -> bool:
        left[0] -= 1
        return left[0] < 0

    one = HourCounts(received=1, sent=1)
    table.add_hours(HOOK, dict.fromkeys(range(300), one), Last(success=7), is_late)
    assert table.hours()[HOOK] == {299: one, 298: one}
    assert table.last() == {HOOK: Last(success=7)}
    table.add_hours(HOOK, {299: one}, Last())
    assert len(table.hours()[HOOK]) == 300
    assert table.read() == {HOOK: Counts(sent=301)}
