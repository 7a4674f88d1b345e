"""Counters: one call a batch, and no event waits for one."""

import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.store.counters import Counters, Counts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HOOK = "arn:minio:sqs::primary:webhook"


def test_counts_add_up_by_target(dynamodb: "DynamoDBClient", rules_table: str) -> None:
    table = Counters(rules_table, lambda: dynamodb)
    table.add(HOOK, Counts(sent=10, failed=2))
    table.add(HOOK, Counts(sent=1, dead=3))
    table.add("arn:minio:sqs::gone:webhook", Counts(skipped=4))
    assert table.read() == {
        HOOK: Counts(sent=11, failed=2, dead=3),
        "arn:minio:sqs::gone:webhook": Counts(skipped=4),
    }


class Calls:
    """Counts the calls, and does not answer them."""

    def __init__(self) -> None:
        self.number = 0

    def update_item(self, **_: Any) -> None:
        self.number += 1
        raise EndpointConnectionError(endpoint_url="https://dynamodb")


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


def test_a_table_that_does_not_answer_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Any = Calls()
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    table = Counters("rules", lambda: calls)
    for _ in range(3):
        table.add(HOOK, Counts(sent=1))
    assert calls.number == 1
    now[0] += 61
    table.add(HOOK, Counts(sent=1))
    assert calls.number == 2
