"""Listeners as they are stored: limits, expiry, taking over, and what ingest makes of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from bucketcast.destination import ListenerArn
from bucketcast.listen import listener as listeners
from bucketcast.listen.aws.cache import FRESH_SECONDS, ListenerCache
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import (
    IN_ALL,
    KEPT_SECONDS,
    LEASE_SECONDS,
    LOST_SECONDS,
    PARTITION,
    EventsLostError,
    ListenFilter,
    Seen,
    TooManyListenersError,
)
from bucketcast.rules import Rule, RuleIndex
from tests.unit.samples import event

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

PUTS = ("s3:ObjectCreated:*",)
FILTER = ListenFilter("anna", "uploads", PUTS, "photos/", ".jpg")


class Clock:
    """Seconds that pass only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Gateway:
    """Processes that share a table; each clock is the same one."""

    def __init__(self, table: Table, sqs: "SQSClient") -> None:
        self.clock = Clock()
        self.table = table
        self.sqs = sqs
        self.prefix = sqs.create_queue(QueueName="any")["QueueUrl"].rpartition("/")[0]

    def process(self) -> Listeners:
        made = Listeners(
            "Bucketcast",
            self.table,
            self.sqs,
            lambda: self.prefix,
            clock=self.clock,
            sleep=self.clock.sleep,
        )
        made.renew()
        return made

    def queues(self) -> list[str]:
        found = self.sqs.list_queues(QueueNamePrefix="Bucketcast-listen-").get("QueueUrls", [])
        return [url.rpartition("/")[2] for url in found]


@pytest.fixture
def table(dynamodb: "DynamoDBClient", state_table: str) -> Table:
    return Table(state_table, dynamodb)


@pytest.fixture
def gateway(table: Table, sqs: "SQSClient") -> Gateway:
    return Gateway(table, sqs)


def test_a_listener_has_a_queue_and_is_there_at_once(gateway: Gateway) -> None:
    one = gateway.process().take(FILTER)
    assert gateway.queues() == [one.queue]
    assert gateway.table.seen().listeners == (one,)


def test_with_a_key_its_queue_is_encrypted_by_it(table: Table, sqs: "SQSClient") -> None:
    gateway = Gateway(table, sqs)
    key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    process = Listeners("Bucketcast", table, sqs, lambda: gateway.prefix, kms_key=lambda: key)
    process.renew()
    one = process.take(FILTER)
    found = sqs.get_queue_attributes(QueueUrl=process.url(one), AttributeNames=["All"])
    assert found["Attributes"]["KmsMasterKeyId"] == key


def test_who_comes_back_within_a_minute_gets_the_queue_that_was_kept(gateway: Gateway) -> None:
    process = gateway.process()
    one = process.take(FILTER)
    process.release(one)
    gateway.clock.now += KEPT_SECONDS - 1
    process.renew()
    assert process.sweep() == 1
    again = process.take(replace(FILTER, events=PUTS))
    assert (again.id, again.queue) == (one.id, one.queue)


def test_after_a_minute_all_of_it_is_gone(gateway: Gateway) -> None:
    process = gateway.process()
    process.release(process.take(FILTER))
    gateway.clock.now += KEPT_SECONDS + LEASE_SECONDS + 1
    assert process.sweep() == 0
    assert gateway.queues() == []
    assert gateway.table.seen().listeners == ()
    gateway.clock.now += KEPT_SECONDS
    assert gateway.process().sweep() == 0
    assert len(gateway.table.seen().leases) == 1


def test_two_that_ask_the_same_at_once_have_a_queue_each(gateway: Gateway) -> None:
    process, other = gateway.process(), gateway.process()
    first, second = process.take(FILTER), process.take(FILTER)
    assert first.id != second.id
    # Another process' lease is looked at until it is renewed.
    gateway.clock.sleep = _renewing(gateway, process)  # type: ignore[assignment,method-assign]
    other = gateway.process()
    assert other.take(FILTER).id not in (first.id, second.id)


def test_one_that_is_released_meanwhile_is_taken_over_at_once(gateway: Gateway) -> None:
    """On Lambda a lease is as long as an answer may take, and is not renewed meanwhile."""
    process, other = gateway.process(), gateway.process()
    process.renew(30)
    one, began = process.take(FILTER), gateway.clock.now

    def sleep(seconds: float) -> None:
        gateway.clock.now += seconds
        if gateway.clock.now - began < 2 * seconds:
            process.release(one)

    other.sleep = sleep
    other.renew(30)
    assert other.take(FILTER).id == one.id
    assert gateway.clock.now - began < LEASE_SECONDS


def _renewing(gateway: Gateway, process: Listeners) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        gateway.clock.now += seconds
        process.renew()

    return sleep


def test_the_listener_of_a_killed_process_is_taken_over(gateway: Gateway) -> None:
    one = gateway.process().take(FILTER)
    began = gateway.clock.now
    assert gateway.process().take(FILTER).id == one.id
    assert gateway.clock.now - began <= LEASE_SECONDS + 1


def test_nobody_takes_over_what_another_user_or_another_filter_heard(gateway: Gateway) -> None:
    process = gateway.process()
    one = process.take(FILTER)
    process.release(one)
    others = [
        replace(FILTER, user="berta"),
        replace(FILTER, bucket=""),
        replace(FILTER, prefix="photos"),
        replace(FILTER, suffix=""),
        replace(FILTER, events=("s3:ObjectCreated:Put",)),
    ]
    assert one.id not in {process.take(each).id for each in others}


def test_a_user_and_a_deployment_have_so_many_and_no_more(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "A_USER", 3)
    process = gateway.process()
    for number in range(3):
        process.take(replace(FILTER, prefix=str(number)))
    with pytest.raises(TooManyListenersError, match="anna has 3 listeners; a user may have 3"):
        process.take(FILTER)
    kept = gateway.table.seen()
    many = replace(kept, listeners=kept.listeners * (IN_ALL // 3 + 1))
    now = round(gateway.clock.now * 1_000)
    assert "a deployment may have" in many.refusal("berta", now)
    assert len(gateway.queues()) == 3
    # Those that are over count no more, whether they were removed or not.
    assert not kept.refusal("anna", now + 2 * KEPT_SECONDS * 1_000)


def test_a_stream_that_lost_events_gets_one_note(gateway: Gateway) -> None:
    process = gateway.process()
    one = process.take(FILTER)
    process.lose(one, "nobody read")
    assert gateway.queues() == []
    assert process.sweep() == 1
    with pytest.raises(EventsLostError, match="nobody read"):
        process.take(FILTER)
    assert process.take(FILTER).id != one.id
    process.lose(process.take(replace(FILTER, prefix="b")), "nobody read")
    gateway.clock.now += LOST_SECONDS + 1
    assert process.sweep() == 0


def test_a_listener_that_was_taken_over_is_not_swept(gateway: Gateway) -> None:
    process = gateway.process()
    one = process.take(FILTER)
    process.release(one)
    (released,) = gateway.table.seen().listeners
    process.take(FILTER)
    process.remove(released)
    assert len(gateway.table.seen().listeners) == 1
    assert gateway.queues() == [one.queue]


def test_a_queue_that_cannot_be_made_leaves_no_listener(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = gateway.process()

    def refuse(_: object) -> None:
        raise OSError("no network")

    with monkeypatch.context() as broken:
        broken.setattr(process, "_make_queue", refuse)
        with pytest.raises(OSError, match="no network"):
            process.take(FILTER)
    assert gateway.table.seen().listeners == ()


def matched(
    heard: ListenerCache, table: Table, key: str, bucket: str = "uploads", **more: str
) -> list[str]:
    rules = {"uploads": RuleIndex([Rule(bucket="uploads", arn="hook", events=PUTS)])}
    found = heard.add_to(rules, {bucket}, table.seen().version).get(bucket)
    hits = found.match(event(key, bucket=bucket, **more)) if found else ()
    return [hit.to.arn for hit in hits]


def test_ingest_finds_a_new_listener_with_the_next_batch(gateway: Gateway) -> None:
    heard = ListenerCache(gateway.table, gateway.clock)
    assert matched(heard, gateway.table, "photos/a.jpg") == ["hook"]
    one = gateway.process().take(FILTER)
    everywhere = gateway.process().take(ListenFilter("anna", "", ("s3:BucketCreated:*", *PUTS)))
    wanted = {"hook", ListenerArn(one.id).arn, ListenerArn(everywhere.id).arn}
    assert set(matched(heard, gateway.table, "photos/a.jpg")) == wanted
    assert set(matched(heard, gateway.table, "photos/a.png")) == {
        "hook",
        ListenerArn(everywhere.id).arn,
    }
    assert matched(heard, gateway.table, "photos/a.jpg", "other") == [
        ListenerArn(everywhere.id).arn
    ]
    made = matched(heard, gateway.table, "", "other", name="s3:BucketCreated:*")
    assert made == [ListenerArn(everywhere.id).arn]
    assert heard.queue(ListenerArn(one.id)) == one.queue


def test_a_listener_lives_as_long_as_its_process_renews(gateway: Gateway) -> None:
    heard, process = ListenerCache(gateway.table, gateway.clock), gateway.process()
    one = process.take(FILTER)
    for _ in range(100):
        gateway.clock.now += LEASE_SECONDS
        process.renew()
        assert ListenerArn(one.id).arn in matched(heard, gateway.table, "photos/a.jpg")
    gateway.clock.now += LEASE_SECONDS + KEPT_SECONDS + FRESH_SECONDS + 1
    assert matched(heard, gateway.table, "photos/a.jpg") == ["hook"]
    assert heard.queue(ListenerArn(one.id)) is None


def test_a_listener_whose_process_stood_still_gets_events_again_and_a_note(
    gateway: Gateway,
) -> None:
    heard, process = ListenerCache(gateway.table, gateway.clock), gateway.process()
    one = process.take(FILTER)
    assert ListenerArn(one.id).arn in matched(heard, gateway.table, "photos/a.jpg")
    gateway.clock.now += LEASE_SECONDS + KEPT_SECONDS + 1
    assert matched(heard, gateway.table, "photos/a.jpg") == ["hook"]
    lapse = process.renew()
    assert lapse > KEPT_SECONDS
    assert process.leased(lapse) == frozenset()
    gateway.clock.now += LEASE_SECONDS
    assert process.renew() == 0
    gateway.clock.now += FRESH_SECONDS
    process.renew()
    assert ListenerArn(one.id).arn in matched(heard, gateway.table, "photos/a.jpg")


def test_who_stood_still_for_a_moment_holds_what_nobody_took_over(gateway: Gateway) -> None:
    process = gateway.process()
    one, other = process.take(FILTER), process.take(ListenFilter("anna", "", PUTS))
    gateway.clock.now += LEASE_SECONDS + 1
    assert gateway.process().take(FILTER).id == one.id
    assert process.leased(process.renew()) == {other.id}


def test_where_nobody_listens_nothing_is_read(gateway: Gateway) -> None:
    class Never(Table):
        def seen(self) -> Seen:
            raise AssertionError("a read for nobody")

    heard = ListenerCache(Never("none", gateway.sqs), gateway.clock)  # type: ignore[arg-type]
    rules = {"uploads": RuleIndex([])}
    for _ in range(3):
        assert heard.add_to(rules, {"uploads"}, 0) is rules
        gateway.clock.now += FRESH_SECONDS + 1


def test_listeners_that_cannot_be_read_stop_no_rule(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("no network")

    heard = ListenerCache(gateway.table, gateway.clock)
    version = 7
    monkeypatch.setattr(gateway.table, "seen", fail)
    rules = {"uploads": RuleIndex([])}
    assert heard.add_to(rules, {"uploads"}, version) is rules


def test_no_bucket_is_called_as_the_partition_is() -> None:
    assert "#" in PARTITION
