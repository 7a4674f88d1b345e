"""S3 heeds a change of a bucket's notifications late: no event of these minutes may be lost.

The S3 here is the worst that its documentation allows: what is taken away is gone at once, and
what is added is heeded 300 s after the call. The time is made up; an event is put at every second.
"""

import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.attach import notifications
from bucketcast.aws import deployed
from bucketcast.aws.attach.attachments import Attachments
from bucketcast.aws.attach.cutover import Cutovers, NotInEffectError
from functions.custom_resources import bucket as custom_bucket
from tests.unit import fake_buckets
from tests.unit.cli.test_attach import POLICY, admit
from tests.unit.fake_aws import TABLE, FakeAws
from tests.unit.test_function_custom_resources import asked, properties

apply: Any = custom_bucket.apply  # the tests hand in fakes
HEEDED_AFTER = 300
OURS, QUEUE = "Bucketcast-ingress", "arn:aws:sqs:us-east-1:123456789012:Bucketcast-ingress"
WAYS = [("sqs", "eventbridge"), ("eventbridge", "sqs")]
EVER = -1_000_000.0


class Clock:
    """Seconds since 1970, which pass only where somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class LateS3(fake_buckets.Buckets):
    """Remembers each document, and from when it was there."""

    def __init__(self, clock: Clock, **documents: dict[str, Any]) -> None:
        super().__init__(**documents)
        self._clock = clock
        self.history = {name: [(EVER, held)] for name, held in self.documents.items()}

    def put_bucket_notification_configuration(self, **call: Any) -> None:
        super().put_bucket_notification_configuration(**call)
        name = call["Bucket"]
        self.history[name].append((self._clock(), copy.deepcopy(self.documents[name])))

    def tells(self, way: Callable[[Any], bool], moment: float) -> bool:
        """Whether it surely tells of an event in this way: by all that may be in force."""
        older = [held for since, held in self.history["uploads"] if since <= moment - HEEDED_AFTER]
        newer = [
            held
            for since, held in self.history["uploads"]
            if moment - HEEDED_AFTER < since <= moment
        ]
        return all(way(held) for held in [older[-1], *newer])


class TimedRules(fake_buckets.EventRules):
    """Remembers when each rule came and went."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.log: list[tuple[float, bool]] = [(EVER, False)]

    def put_targets(self, Rule: str, Targets: list[Any]) -> Any:  # noqa: N803 - boto3's names
        self.log.append((self._clock(), True))
        return super().put_targets(Rule, Targets)

    def remove_targets(self, Rule: str, Ids: list[str]) -> None:  # noqa: N803
        self.log.append((self._clock(), False))
        super().remove_targets(Rule, Ids)

    def listens(self, moment: float) -> bool:
        return [there for since, there in self.log if since <= moment][-1]


def by_queue(document: Any) -> bool:
    return notifications.is_attached(document, OURS, QUEUE)


def wired(via: str) -> dict[str, Any]:
    return (
        notifications.attach({}, OURS, QUEUE) if via == "sqs" else notifications.to_eventbridge({})
    )


def lost(s3: LateS3, listens: Callable[[float], bool], begin: float, end: float) -> list[float]:
    """The moments whose events reach the queue by no way."""
    moments = [begin - 1_000 + second for second in range(round(end - begin) + 3_000)]
    return [
        moment - begin
        for moment in moments
        if not s3.tells(by_queue, moment)
        and not (s3.tells(notifications.tells_eventbridge, moment) and listens(moment))
    ]


def update(then: str, first: str, overlap: str = "600", request: str = "r") -> dict[str, Any]:
    """What CloudFormation asks of the function where `via` has changed."""
    held = {"Overlap": overlap, "RulesTable": TABLE, "QueueArn": QUEUE, "Account": "123456789012"}
    now, before = ({**properties(via), **held} for via in (then, first))
    return {**asked("Update", now, before), "RequestId": request}


@pytest.mark.parametrize(("first", "then"), WAYS)
def test_a_deploy_that_changes_the_way_loses_no_event(
    dynamodb: Any, rules_table: str, first: str, then: str
) -> None:
    assert rules_table
    clock = Clock()
    s3, begin = LateS3(clock, uploads=wired(first)), clock()
    apply(update(then, first), s3, lambda _: dynamodb, clock.sleep, clock)
    end = clock()

    def listens(moment: float) -> bool:
        """CloudFormation makes the rule before it calls, and removes it when that is done."""
        return moment >= begin if then == "eventbridge" else moment <= end

    assert lost(s3, listens, begin, end) == []
    assert by_queue(s3.documents["uploads"]) == (then == "sqs")
    assert end - begin == 600


def test_the_clock_sees_the_gap_of_a_change_at_once(dynamodb: Any, rules_table: str) -> None:
    assert rules_table
    clock = Clock()
    s3, begin = LateS3(clock, uploads=wired("sqs")), clock()
    apply(update("eventbridge", "sqs", "0"), s3, lambda _: dynamodb, clock.sleep, clock)
    assert len(lost(s3, lambda _: True, begin, clock())) == HEEDED_AFTER


@pytest.mark.parametrize(("first", "then"), WAYS)
@pytest.mark.parametrize("after", [0, 1, 299, 300, 599])
def test_a_deploy_that_is_rolled_back_in_between_loses_no_event(
    dynamodb: Any, rules_table: str, first: str, then: str, after: int
) -> None:
    """The first request sleeps on while CloudFormation asks for the old way again."""
    assert rules_table
    clock = Clock()
    s3, begin = LateS3(clock, uploads=wired(first)), clock()
    asleep, awake = threading.Event(), threading.Event()

    def sleep(_: float) -> None:
        asleep.set()
        assert awake.wait(30)

    forward = threading.Thread(
        target=lambda: apply(update(then, first), s3, lambda _: dynamodb, sleep, clock)
    )
    forward.start()
    assert asleep.wait(30)
    clock.now = begin + after

    def meanwhile(seconds: float) -> None:
        clock.now = begin + 600
        awake.set()
        forward.join(30)
        clock.now = begin + after + seconds

    back = update(first, then, request="rolled back")
    apply(back, s3, lambda _: dynamodb, meanwhile, clock)
    awake.set()
    forward.join(30)
    end = clock()

    def listens(moment: float) -> bool:
        return begin <= moment <= end if then == "eventbridge" else True

    assert lost(s3, listens, begin, end) == []
    assert by_queue(s3.documents["uploads"]) == (first == "sqs")


@pytest.mark.parametrize(("first", "then"), WAYS)
@pytest.mark.parametrize("pauses", [(600,), (1, 1, 1_000), (599, 1), (300, 300)])
def test_attaching_another_way_loses_no_event(
    aws: None, first: str, then: str, pauses: tuple[int, ...]
) -> None:
    assert aws is None
    clock = Clock()
    account, buckets = attaching(clock)
    buckets.attach("uploads", first)  # type: ignore[arg-type] # one of the two
    clock.sleep(5_000)
    begin = clock()
    attached = buckets.attach("uploads", then)  # type: ignore[arg-type]
    for pause in pauses:
        assert attached.both
        clock.sleep(pause)
        attached = buckets.attach("uploads", then)  # type: ignore[arg-type]
    assert not attached.both
    assert lost(account.s3, account.events.listens, begin, clock()) == []
    assert buckets.look("uploads").via == then


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_a_backfill_waits_until_events_come_for_sure(aws: None, via: str) -> None:
    assert aws is None
    clock = Clock()
    account, buckets = attaching(clock)
    switches = Cutovers(TABLE, account.dynamodb)
    switches.require("uploads", clock())  # of a bucket that nobody attached here nothing is known
    begin = clock()
    buckets.attach("uploads", via)  # type: ignore[arg-type]
    with pytest.raises(NotInEffectError, match=r"an object put before 1970-01-12 13:56:41Z"):
        switches.require("uploads", clock())
    clock.sleep(599)
    with pytest.raises(NotInEffectError):
        switches.require("uploads", clock())
    clock.sleep(1)
    switches.require("uploads", clock())
    gap = lost(account.s3, account.events.listens, begin, clock())
    assert not [moment for moment in gap if moment >= clock() - begin]
    # To attach again changes nothing, and so it puts nothing off.
    buckets.attach("uploads", via)  # type: ignore[arg-type]
    switches.require("uploads", clock())


def attaching(clock: Clock) -> tuple[FakeAws, Attachments]:
    account = FakeAws()
    account.sqs.create_queue(QueueName=OURS)
    admit(account, POLICY)
    account.s3, account.events = LateS3(clock, uploads={}), TimedRules(clock)
    return account, Attachments(deployed.find("Bucketcast", account), account, clock)
