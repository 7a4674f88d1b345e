"""Stored listeners: limits, expiry, takeover, and the rules that ingest adds for them."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from bucketcast.destination import ListenerArn
from bucketcast.limits import MOST_LISTENERS
from bucketcast.listen.aws.cache import FRESH_SECONDS, UNREADABLE_SECONDS, ListenerCache
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import (
    KEEP_LOST_SECONDS,
    KEEP_SECONDS,
    LEASE_SECONDS,
    EventsLostError,
    ListenFilter,
    Snapshot,
    TooManyListenersError,
)
from bucketcast.rules import Rule, RuleIndex
from tests.unit.samples import event

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

PUTS = ("s3:ObjectCreated:*",)
FILTER = ListenFilter("anna", "uploads", PUTS, "photos/", ".jpg")


@pytest.mark.parametrize(
    ("bucket", "events", "expected"),
    [
        ("", ("s3:ObjectCreated:*", "s3:BucketCreated:*"), True),
        ("", ("s3:BucketCreated:*", "s3:BucketRemoved:*"), False),
        ("uploads", PUTS, False),
    ],
)
def test_it_is_known_if_a_listener_hears_the_objects_of_all_buckets(
    gateway: "Gateway", bucket: str, events: tuple[str, ...], *, expected: bool
) -> None:
    listeners_ = gateway.process()
    assert not listeners_.any_of_all_objects()
    listener = listeners_.acquire(ListenFilter("anna", bucket, events))
    assert gateway.process().any_of_all_objects() is expected
    listeners_.release(listener)
    gateway.clock.sleep(LEASE_SECONDS + KEEP_SECONDS + 1)
    assert not gateway.process().any_of_all_objects()


class Clock:
    """Seconds that pass only during `sleep`."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Gateway:
    """Processes that share a table and a clock."""

    def __init__(self, table: Table, sqs: "SQSClient") -> None:
        self.clock = Clock()
        self.table = table
        self.sqs = sqs
        self.prefix = sqs.create_queue(QueueName="any")["QueueUrl"].rpartition("/")[0]

    def process(self) -> Listeners:
        process = Listeners(
            "Bucketcast",
            self.table,
            self.sqs,
            lambda: self.prefix,
            clock=self.clock,
            sleep=self.clock.sleep,
        )
        process.renew()
        return process

    def queues(self) -> list[str]:
        urls = self.sqs.list_queues(QueueNamePrefix="Bucketcast-listen-").get("QueueUrls", [])
        return [url.rpartition("/")[2] for url in urls]


@pytest.fixture
def table(dynamodb: "DynamoDBClient", state_table: str) -> Table:
    return Table(state_table, dynamodb)


@pytest.fixture
def gateway(table: Table, sqs: "SQSClient") -> Gateway:
    return Gateway(table, sqs)


def test_a_queue_is_encrypted_with_the_configured_key(table: Table, sqs: "SQSClient") -> None:
    gateway = Gateway(table, sqs)
    key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    process = Listeners("Bucketcast", table, sqs, lambda: gateway.prefix, kms_key=lambda: key)
    process.renew()
    listener = process.acquire(FILTER)
    attributes = sqs.get_queue_attributes(QueueUrl=process.url(listener), AttributeNames=["All"])
    assert attributes["Attributes"]["KmsMasterKeyId"] == key


def test_a_listener_is_removed_after_a_minute(gateway: Gateway) -> None:
    process = gateway.process()
    process.release(process.acquire(FILTER))
    gateway.clock.now += KEEP_SECONDS + LEASE_SECONDS + 1
    assert process.sweep() == 0
    assert gateway.queues() == []
    assert gateway.table.read().listeners == ()
    gateway.clock.now += KEEP_SECONDS
    assert gateway.process().sweep() == 0
    assert len(gateway.table.read().leases) == 1


def test_the_listeners_of_a_removed_bucket_are_removed(gateway: Gateway) -> None:
    process = gateway.process()
    process.acquire(FILTER)
    others = {process.acquire(ListenFilter("anna", bucket, PUTS)) for bucket in ("", "archive")}
    gateway.process().forget("uploads")
    assert set(gateway.table.read().listeners) == others
    assert set(gateway.queues()) == {listener.queue for listener in others}


def test_equal_concurrent_calls_get_a_queue_each(gateway: Gateway) -> None:
    process, other = gateway.process(), gateway.process()
    first, second = process.acquire(FILTER), process.acquire(FILTER)
    assert first.id != second.id
    # A process waits for the renewal of the other's lease.
    gateway.clock.sleep = _renewing(gateway, process)  # type: ignore[assignment,method-assign]
    other = gateway.process()
    assert other.acquire(FILTER).id not in (first.id, second.id)


@pytest.mark.parametrize(("seconds", "waits"), [(30, True), (30, False), (LEASE_SECONDS, False)])
def test_a_call_on_lambda_is_not_waited_for(
    gateway: Gateway, seconds: float, *, waits: bool
) -> None:
    """Its lease lasts for the whole call; and none waits for another there."""
    began = gateway.clock.now
    processes = [gateway.process() for _ in range(10)]
    for process in processes:
        process.renew(seconds)
    acquired = [process.acquire(FILTER, "anna", waits=waits) for process in processes]
    assert len({listener.queue for listener in acquired}) == 10
    assert gateway.clock.now == began
    for process, listener in zip(processes, acquired, strict=True):
        assert process.twins(listener) == 9


@pytest.mark.parametrize("away", [0.1, KEEP_SECONDS - 10])
def test_a_place_is_its_clients_for_a_minute(gateway: Gateway, away: float) -> None:
    """However others that ask for the same come and go, and in the order in which alike ones left.

    Clients pause for up to half a minute between two calls.
    """
    process = gateway.process()
    clients = ["laptop", "laptop", "server", "laptop"]
    acquired = [process.acquire(FILTER, client) for client in clients]
    assert [process.twins(listener) for listener in acquired] == [2, 2, 0, 2]
    for listener in acquired:
        gateway.clock.now += 0.1
        process.release(listener)
    gateway.clock.now += away
    process.renew()
    assert process.sweep() == 4
    assert process.acquire(FILTER, "phone") not in acquired
    again = [process.acquire(replace(FILTER, events=2 * PUTS), client) for client in clients]
    assert [each.queue for each in again] == [each.queue for each in acquired]


def test_who_comes_back_at_once_takes_no_place_of_one_alike_that_is_away(gateway: Gateway) -> None:
    process = gateway.process()
    away, back = process.acquire(FILTER), process.acquire(FILTER)
    process.release(away)
    gateway.clock.now += 2.5
    process.release(back)
    assert [process.acquire(FILTER).id for _ in range(2)] == [back.id, away.id]


def _renewing(gateway: Gateway, process: Listeners) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        gateway.clock.now += seconds
        process.renew()

    return sleep


def test_the_listener_of_a_killed_process_is_taken_over(gateway: Gateway) -> None:
    listener = gateway.process().acquire(FILTER)
    began = gateway.clock.now
    assert gateway.process().acquire(FILTER).id == listener.id
    assert gateway.clock.now - began <= LEASE_SECONDS + 1


def test_another_user_or_filter_does_not_take_over_a_listener(gateway: Gateway) -> None:
    process = gateway.process()
    listener = process.acquire(FILTER)
    process.release(listener)
    others = [
        replace(FILTER, user="berta"),
        replace(FILTER, bucket=""),
        replace(FILTER, prefix="photos"),
        replace(FILTER, suffix=""),
        replace(FILTER, events=("s3:ObjectCreated:Put",)),
    ]
    assert listener.id not in {process.acquire(other).id for other in others}


def test_users_and_deployments_have_a_maximum_of_listeners(gateway: Gateway) -> None:
    process = gateway.process()
    process.per_user = 3
    for number in range(3):
        process.acquire(replace(FILTER, prefix=str(number)))
    with pytest.raises(TooManyListenersError, match="the user has 3 listeners, and may have 3"):
        process.acquire(FILTER)
    snapshot = gateway.table.read()
    many = replace(snapshot, listeners=snapshot.listeners * (MOST_LISTENERS // 3 + 1))
    now = round(gateway.clock.now * 1_000)
    more = replace(many.listeners[0], requested=replace(FILTER, user="berta"))
    assert "a deployment may have" in many.limit_error(more, 3, now)
    assert len(gateway.queues()) == 3
    # Expired listeners do not count, even before they are removed.
    assert not snapshot.limit_error(snapshot.listeners[0], 3, now + 2 * KEEP_SECONDS * 1_000)


def test_wildcards_have_a_share_of_a_user_and_of_a_bucket_and_none_of_all(gateway: Gateway) -> None:
    process, wild = gateway.process(), replace(FILTER, prefix="photos/*/2026-??-??")
    for _ in range(20):
        process.acquire(wild)  # which is matched once
    long = replace(wild, prefix="a" * 450 + "*")
    refused = [
        (replace(wild, bucket=""), "listeners of all buckets .* allowed are 0"),
        (replace(wild, user="berta", prefix="?" * 1_024), "a user's listeners of uploads need 7,"),
        (long, "a user's listeners of uploads .* allowed are 500"),
        (replace(long, user="4", suffix="b"), "the listeners of uploads .* allowed are 2,000"),
    ]
    for number in range(4):
        user = replace(long, user=f"{number}")
        process.acquire(replace(user, bucket="archive"))
        process.acquire(replace(user, suffix=f"{number}"))
        process.acquire(replace(user, bucket="", prefix="a" * 450))
    for requested, why in refused:
        with pytest.raises(TooManyListenersError, match=why):
            process.acquire(requested)


def test_a_client_whose_events_were_lost_gets_one_error(gateway: Gateway) -> None:
    process = gateway.process()
    listener = process.acquire(FILTER)
    process.mark_lost(listener, "not read")
    assert gateway.queues() == []
    assert process.sweep() == 1
    with pytest.raises(EventsLostError, match="not read"):
        process.acquire(FILTER)
    assert process.acquire(FILTER).id != listener.id
    process.mark_lost(process.acquire(replace(FILTER, prefix="b")), "not read")
    gateway.clock.now += KEEP_LOST_SECONDS + 1
    assert process.sweep() == 0


def test_a_listener_that_was_taken_over_is_not_swept(gateway: Gateway) -> None:
    process = gateway.process()
    listener = process.acquire(FILTER)
    process.release(listener)
    (released,) = gateway.table.read().listeners
    process.acquire(FILTER)
    process.remove(released)
    assert len(gateway.table.read().listeners) == 1
    assert gateway.queues() == [listener.queue]


def test_a_queue_that_cannot_be_created_leaves_no_listener(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = gateway.process()
    monkeypatch.setattr(process, "_create_queue", Mock(side_effect=OSError("no network")))
    with pytest.raises(OSError, match="no network"):
        process.acquire(FILTER)
    assert gateway.table.read().listeners == ()


def matched(
    cache: ListenerCache, table: Table, key: str, bucket: str = "uploads", **fields: str
) -> list[str]:
    rules = {"uploads": RuleIndex([Rule(bucket="uploads", arn="hook", events=PUTS)])}
    index = cache.add_to(rules, {bucket}, table.read().version).get(bucket)
    hits = index.match(event(key, bucket=bucket, **fields)) if index else ()
    return [hit.to.arn for hit in hits]


def test_ingest_finds_a_new_listener_with_the_next_batch(gateway: Gateway) -> None:
    cache = ListenerCache(gateway.table, gateway.clock)
    assert matched(cache, gateway.table, "photos/a.jpg") == ["hook"]
    listener = gateway.process().acquire(FILTER)
    everywhere = gateway.process().acquire(ListenFilter("anna", "", ("s3:BucketCreated:*", *PUTS)))
    expected = {"hook", ListenerArn(listener.id).arn, ListenerArn(everywhere.id).arn}
    assert set(matched(cache, gateway.table, "photos/a.jpg")) == expected
    assert set(matched(cache, gateway.table, "photos/a.png")) == {
        "hook",
        ListenerArn(everywhere.id).arn,
    }
    assert matched(cache, gateway.table, "photos/a.jpg", "other") == [
        ListenerArn(everywhere.id).arn
    ]
    created = matched(cache, gateway.table, "", "other", name="s3:BucketCreated:*")
    assert created == [ListenerArn(everywhere.id).arn]
    assert cache.queue(ListenerArn(listener.id)) == listener.queue


def test_listeners_of_a_bucket_that_cannot_be_indexed_stop_no_others(gateway: Gateway) -> None:
    """Those of processes that were suspended come back, whatever there is by then."""
    heard = gateway.process().acquire(FILTER)
    long = replace(heard, id="b", requested=replace(FILTER, bucket="archive", prefix="?" * 1_024))
    assert gateway.table.add(long, gateway.table.read().version)
    cache = ListenerCache(gateway.table, gateway.clock)
    assert ListenerArn(heard.id).arn in matched(cache, gateway.table, "photos/a.jpg")
    assert matched(cache, gateway.table, "photos/a.jpg", "archive") == []


def test_a_listener_of_a_resumed_process_gets_events_again(gateway: Gateway) -> None:
    cache, process = ListenerCache(gateway.table, gateway.clock), gateway.process()
    listener = process.acquire(FILTER)
    assert ListenerArn(listener.id).arn in matched(cache, gateway.table, "photos/a.jpg")
    gateway.clock.now += LEASE_SECONDS + KEEP_SECONDS + 1
    assert cache.queue(ListenerArn(listener.id)) is None
    assert matched(cache, gateway.table, "photos/a.jpg") == ["hook"]
    lapse = process.renew()
    assert lapse > KEEP_SECONDS
    assert process.held_after(lapse) == frozenset()
    gateway.clock.now += LEASE_SECONDS
    assert process.renew() == 0
    gateway.clock.now += FRESH_SECONDS
    process.renew()
    assert ListenerArn(listener.id).arn in matched(cache, gateway.table, "photos/a.jpg")


def test_a_resumed_process_holds_its_listeners_unless_taken_over(gateway: Gateway) -> None:
    process = gateway.process()
    listener, other = process.acquire(FILTER), process.acquire(ListenFilter("anna", "", PUTS))
    gateway.clock.now += LEASE_SECONDS + 1
    assert gateway.process().acquire(FILTER).id == listener.id
    assert process.held_after(process.renew()) == {other.id}


def test_listeners_are_not_read_while_there_are_none(gateway: Gateway) -> None:
    class UnreadTable(Table):
        def read(self) -> Snapshot:
            raise AssertionError("listeners were read")

    cache = ListenerCache(UnreadTable("none", gateway.sqs), gateway.clock)  # type: ignore[arg-type]
    rules = {"uploads": RuleIndex([])}
    for _ in range(3):
        assert cache.add_to(rules, {"uploads"}, 0) is rules
        gateway.clock.now += FRESH_SECONDS + 1


def test_rules_match_while_listeners_cannot_be_read(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail() -> None:
        tried.append(gateway.clock.now)
        raise OSError("no network")

    cache = ListenerCache(gateway.table, gateway.clock)
    version = 7
    monkeypatch.setattr(gateway.table, "read", fail)
    rules = {"uploads": RuleIndex([])}
    for _ in range(60):
        assert cache.add_to(rules, {"uploads"}, version) is rules
        gateway.clock.now += 1
    assert len(tried) == 60 / UNREADABLE_SECONDS, "they do not hold up each batch"
