"""The breakers in DynamoDB: what one function saw of a target, all others know."""

import time

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.dispatch.breaker import Trouble
from bucketcast.store.breakers import REASON_LENGTH, Breakers

HOOK, TABLE = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::_:postgresql"
SEEN = Trouble(1_000, 3_000, error="NotConnected", reason="no answer")


@pytest.fixture
def breakers(aws: None, rules_table: str) -> Breakers:  # noqa: ARG001
    return Breakers(rules_table, lambda: boto3.client("dynamodb"))


def test_a_target_that_answers_has_no_item(breakers: Breakers) -> None:
    assert breakers.of(HOOK).read() is None
    assert breakers.read() == {}


def test_what_one_function_saw_all_others_know(breakers: Breakers) -> None:
    one, other = breakers.of(HOOK), breakers.of(HOOK)
    assert one.note(SEEN, probed=False) == SEEN
    assert other.read() == SEEN
    assert breakers.of(TABLE).read() is None
    later = other.note(SEEN._replace(since=2_000, next=9_000, reason="again"), probed=False)
    assert later == Trouble(1_000, 9_000, 0, 2, "NotConnected", "again"), "it began with the first"
    assert one.read() == later
    assert breakers.read() == {HOOK: later}


def test_one_function_alone_probes(breakers: Breakers) -> None:
    one, other = breakers.of(HOOK), breakers.of(HOOK)
    one.note(SEEN, probed=False)
    assert not one.take(2_999, 20_000)
    assert one.take(3_000, 20_000)
    assert not other.take(3_000, 20_000)
    assert not other.take(19_999, 40_000)
    assert other.take(20_000, 40_000), "who probed was killed"


def test_only_the_probe_ends_a_probe(breakers: Breakers) -> None:
    one = breakers.of(HOOK)
    one.note(SEEN, probed=False)
    one.take(3_000, 20_000)
    assert breakers.of(HOOK).note(SEEN, probed=False).probing == 20_000
    assert one.note(SEEN, probed=True).probing == 0


def test_after_an_answer_the_item_is_gone_and_nobody_probes(breakers: Breakers) -> None:
    one = breakers.of(HOOK)
    one.note(SEEN, probed=False)
    breakers.of(HOOK).clear()
    assert one.read() is None
    assert not one.take(9_000, 20_000)
    assert one.read() is None, "to ask for a probe makes no item"


def test_a_long_reason_is_cut(breakers: Breakers) -> None:
    one = breakers.of(HOOK)
    assert len(one.note(SEEN._replace(reason="x" * 5_000), probed=False).reason) == REASON_LENGTH


def test_without_the_table_a_function_knows_what_it_saw_itself(
    aws: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    class Silent:
        def __getattr__(self, name: str) -> object:
            def call(**_: object) -> object:
                calls.append(name)
                raise EndpointConnectionError(endpoint_url="https://dynamodb")

            return call

    one = Breakers("rules", Silent).of(HOOK)  # type: ignore[arg-type]
    assert one.read() is None
    assert one.note(SEEN, probed=False) == SEEN
    assert one.read() == SEEN
    assert one.take(3_000, 20_000)
    assert not one.take(3_000, 20_000)
    one.clear()
    assert one.read() is None
    assert calls == ["get_item"], "it is left alone for a while"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    one.read()
    assert calls == ["get_item", "get_item"]
