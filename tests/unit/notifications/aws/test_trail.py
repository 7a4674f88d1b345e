"""A trail's selectors are one document: concurrent writers lose nothing."""

import math
import threading
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws.trail import Trail
from bucketcast.rules import Rule
from bucketcast.state.lock import Lock
from bucketcast.state.rules import Rules
from tests.unit.conftest import Watch
from tests.unit.moto_aws import ACCOUNT, REGION, TABLE, client, make_trail, selectors

ARN = f"arn:aws:cloudtrail:{REGION}:{ACCOUNT}:trail/ours"


class Clock:
    """Seconds that pass only where somebody waits, and what happens meanwhile."""

    def __init__(self, *meanwhile: Callable[[], None]) -> None:
        self.now = 0.0
        self.meanwhile = list(meanwhile)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()


def reads(bucket: str) -> Rule:
    return Rule(bucket=bucket, arn="arn:minio:sqs::a:webhook", events=("s3:ObjectAccessed:Get",))


def selected() -> set[str]:
    names = [each["Name"] for each in selectors("ours")]
    return {name.rpartition(" ")[2] for name in names if "access events" in name}


@pytest.fixture(autouse=True)
def put(mocked_aws: None, watch: Watch) -> Mock:  # noqa: ARG001 - it answers
    """Every write of the trail's selectors."""
    make_trail("ours")
    return watch(client("cloudtrail"), "put_event_selectors")


@pytest.fixture
def rules(dynamodb: Any, state_table: str) -> Rules:
    rules = Rules(state_table, dynamodb)
    for bucket in ("one", "two"):
        rules.add(reads(bucket))
    return rules


def trail(clock: Clock, name: str = ARN) -> Trail:
    lock = Lock(TABLE, client("dynamodb"), clock=clock, sleep=clock.sleep)
    return Trail(name, "Bucketcast", client("cloudtrail"), lock)


def test_two_writers_interleaved_lose_nothing(rules: Rules, put: Mock) -> None:
    # The second waits for the first: in its first pause nothing has changed, then the first ends.
    done = threading.Event()
    ended = threading.Event()

    def second() -> None:
        waiting = Clock(lambda: None, done.set, lambda: _demand(ended))
        trail(waiting).follow("two", rules)
        done.set()

    other = threading.Thread(target=second)

    def meanwhile(**_: Any) -> Any:
        put.side_effect = None
        other.start()
        _demand(done)
        return DEFAULT

    put.side_effect = meanwhile
    trail(Clock()).follow("one", rules)
    ended.set()
    other.join(30)
    assert selected() == {"one", "two"}


@pytest.mark.parametrize("name", [ARN, "ours"])
def test_lock_of_a_dead_process_expires(
    dynamodb: Any, state_table: str, rules: Rules, name: str
) -> None:
    clock = Clock()
    dead = Lock(state_table, dynamodb).hold("trail/ours")
    dead.__enter__()
    trail(clock, name).follow("one", rules)
    assert selected() == {"one"}
    assert clock.now >= 60  # it could have been alive till then
    dead.__exit__(None, None, None)


def test_lock_that_is_always_taken_fails(
    dynamodb: Any, state_table: str, rules: Rules, put: Mock
) -> None:
    def another() -> None:
        key = {"partition": {"S": "#lock"}, "key": {"S": "trail/ours"}}
        item = {**key, "holder": {"S": str(clock.now)}}
        dynamodb.put_item(TableName=state_table, Item=item)

    clock = Clock(*[another] * 1_000)
    another()
    with pytest.raises(BucketcastError, match="trail/ours"):
        trail(clock).follow("one", rules)
    assert not put.called


def test_others_wait_for_a_lock_as_long_as_their_time_allows(
    dynamodb: Any, state_table: str
) -> None:
    """A hundred buckets of a deploy share one trail."""

    def next_holder() -> None:
        item = {"partition": {"S": "#lock"}, "key": {"S": "trail/ours"}}
        dynamodb.put_item(TableName=state_table, Item=item | {"holder": {"S": str(clock.now)}})

    def end() -> None:
        raise BucketcastError("the time is up")

    clock = Clock(*[next_holder] * 300, end)
    next_holder()
    lock = Lock(state_table, dynamodb, timeout=math.inf, clock=clock, sleep=clock.sleep)
    with pytest.raises(BucketcastError, match="time is up"), lock.hold("trail/ours"):
        pass


def test_writer_that_lost_the_lock_writes_nothing(rules: Rules, put: Mock, watch: Watch) -> None:
    """Its lock was taken by another, who may write in the same moment."""
    clock, late = Clock(), [600.0]

    def slowly(**_: Any) -> Any:
        clock.now += late.pop() if late else 0
        return DEFAULT

    watch(client("cloudtrail"), "get_event_selectors").side_effect = slowly
    trail(clock).follow("one", rules)
    # Too late the first time, it has begun anew.
    assert selected() == {"one"}
    assert put.call_count == 1


def test_lock_is_held_until_a_read_shows_the_write(rules: Rules, put: Mock, watch: Watch) -> None:
    """The next writer begins with what it reads, so it has to see what this one wrote."""
    clock, read = Clock(), watch(client("cloudtrail"), "get_event_selectors")
    stale = read(TrailName=ARN)
    read.side_effect = chain([stale] * 3, repeat(DEFAULT))
    trail(clock).follow("one", rules)
    assert clock.now > 0
    assert (selected(), put.call_count) == ({"one"}, 1)


def test_the_lock_is_no_rule(dynamodb: Any, state_table: str, rules: Rules) -> None:
    lock = Lock(state_table, dynamodb)
    with lock.hold("trail/ours"):
        assert rules.of("one") == [reads("one")]
        assert rules.versions(["one", "#lock"]).keys() == {"one"}
    assert not dynamodb.scan(
        TableName=state_table,
        FilterExpression="#partition = :lock",
        ExpressionAttributeNames={"#partition": "partition"},
        ExpressionAttributeValues={":lock": {"S": "#lock"}},
    )["Items"]


def _demand(event: threading.Event) -> None:
    assert event.wait(30)
