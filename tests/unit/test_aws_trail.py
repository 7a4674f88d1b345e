"""A trail's selectors are one document: of two who write it at once, neither loses anything."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.aws.attach.trail import Trail
from bucketcast.aws.lock import Lock, LockedError
from bucketcast.aws.rules import Rules
from bucketcast.rules import Rule
from tests.unit.fake_buckets import Trails

ARN = "arn:aws:cloudtrail:eu-west-1:111122223333:trail/ours"


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


class Interleaved(Trails):
    """Lets somebody else go on between a read and the write that follows it."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.between: list[Callable[[], None]] = []

    def put_event_selectors(self, TrailName: str, AdvancedEventSelectors: list[Any]) -> None:  # noqa: N803 - boto3's names
        if self.between:
            self.between.pop(0)()
        super().put_event_selectors(TrailName, AdvancedEventSelectors)


def reads(bucket: str) -> Rule:
    return Rule(bucket=bucket, arn="arn:minio:sqs::a:webhook", events=("s3:ObjectAccessed:Get",))


def selected(trails: Trails, name: str = ARN) -> set[str]:
    made = trails.selectors[name].get("AdvancedEventSelectors", [])
    return {each["Name"].rpartition(" ")[2] for each in made if "access events" in each["Name"]}


@pytest.fixture
def rules(dynamodb: Any, rules_table: str) -> Rules:
    rules = Rules(rules_table, dynamodb)
    for bucket in ("one", "two"):
        rules.add(reads(bucket))
    return rules


def trail(trails: Trails, dynamodb: Any, table: str, clock: Clock, name: str = ARN) -> Trail:
    lock = Lock(table, dynamodb, clock=clock, sleep=clock.sleep)
    return Trail(name, "Bucketcast", trails, lock)  # type: ignore[arg-type] # what we call of it


def test_two_writers_interleaved_lose_nothing(
    dynamodb: Any, rules_table: str, rules: Rules
) -> None:
    trails = Interleaved(ARN)
    first = trail(trails, dynamodb, rules_table, Clock())
    # The second waits for the first: in its first pause nothing has changed, then the first ends.
    done = threading.Event()
    ended = threading.Event()

    def second() -> None:
        waiting = Clock(lambda: None, done.set, lambda: _demand(ended))
        trail(trails, dynamodb, rules_table, waiting).follow("two", rules)
        done.set()

    other = threading.Thread(target=second)

    def meanwhile() -> None:
        other.start()
        _demand(done)

    trails.between = [meanwhile]
    first.follow("one", rules)
    ended.set()
    other.join(30)
    assert selected(trails) == {"one", "two"}


@pytest.mark.parametrize("name", [ARN, "ours"])
def test_who_died_with_the_lock_does_not_keep_it(
    dynamodb: Any, rules_table: str, rules: Rules, name: str
) -> None:
    trails, clock = Trails(name), Clock()
    dead = Lock(rules_table, dynamodb).held("trail/ours")
    dead.__enter__()
    trail(trails, dynamodb, rules_table, clock, name).follow("one", rules)
    assert selected(trails, name) == {"one"}
    assert clock.now >= 60  # it could have been alive till then
    dead.__exit__(None, None, None)


def test_a_lock_that_goes_from_hand_to_hand_is_given_up(
    dynamodb: Any, rules_table: str, rules: Rules
) -> None:
    def another() -> None:
        key = {"bucket": {"S": "#lock"}, "rule": {"S": "trail/ours"}}
        item = {**key, "holder": {"S": str(clock.now)}}
        dynamodb.put_item(TableName=rules_table, Item=item)

    clock = Clock(*[another] * 1_000)
    trails = Trails(ARN)
    another()
    with pytest.raises(LockedError, match="trail/ours"):
        trail(trails, dynamodb, rules_table, clock).follow("one", rules)
    assert trails.writes == 0


def test_who_was_too_slow_writes_nothing(dynamodb: Any, rules_table: str, rules: Rules) -> None:
    """Its lock was taken by another, who may write in the same moment."""
    trails, clock = Trails(ARN), Clock()
    slow = trail(trails, dynamodb, rules_table, clock)
    read, late = trails.get_event_selectors, [600.0]

    def slowly(**call: Any) -> Any:
        clock.now += late.pop() if late else 0
        return read(**call)

    trails.get_event_selectors = slowly  # type: ignore[assignment,method-assign]
    slow.follow("one", rules)
    # Too late the first time, it has begun anew.
    assert selected(trails) == {"one"}
    assert trails.writes == 1


def test_what_a_read_does_not_show_yet_is_waited_for(
    dynamodb: Any, rules_table: str, rules: Rules
) -> None:
    """The next writer begins with what it reads, so it has to see what this one wrote."""
    trails, clock = Trails(ARN), Clock()
    read = trails.get_event_selectors
    stale = [read(TrailName=ARN)] * 3

    def lagging(**call: Any) -> Any:
        return stale.pop() if stale else read(**call)

    trails.get_event_selectors = lagging  # type: ignore[assignment,method-assign]
    trail(trails, dynamodb, rules_table, clock).follow("one", rules)
    assert not stale
    assert clock.now > 0
    assert (selected(trails), trails.writes) == ({"one"}, 1)


def test_the_lock_is_no_rule(dynamodb: Any, rules_table: str, rules: Rules) -> None:
    lock = Lock(rules_table, dynamodb)
    with lock.held("trail/ours"):
        assert rules.of("one") == [reads("one")]
        assert rules.versions(["one", "#lock"]).keys() == {"one"}
    assert not dynamodb.scan(
        TableName=rules_table,
        FilterExpression="#bucket = :lock",
        ExpressionAttributeNames={"#bucket": "bucket"},
        ExpressionAttributeValues={":lock": {"S": "#lock"}},
    )["Items"]


def _demand(event: threading.Event) -> None:
    assert event.wait(30)
