"""S3 applies a change of a bucket's notifications late: no event of these minutes may be lost.

The S3 here is the worst that its documentation allows: what is taken away is gone at once, and
what is added is heeded 300 s after the call. The time is made up; an event is put at every second.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bucketcast import deployment as deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.aws.cutover import Cutovers
from functions.custom_resources import bucket as custom_bucket
from tests.unit.conftest import Deploy
from tests.unit.functions.test_custom_resources import properties, request
from tests.unit.moto_aws import INGRESS_ARN, TABLE, MotoAws, client, make_bucket, notification
from tests.unit.notifications.command.test_attach import POLICY, admit

apply: Any = custom_bucket.apply  # the tests hand in fakes
HEEDED_AFTER = 300
OURS = "Bucketcast-ingress"
TRANSPORTS = [("sqs", "eventbridge"), ("eventbridge", "sqs")]
EVER = -1_000_000.0


class Clock:
    """Seconds since 1970, which pass only where somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class LateS3:
    """S3 with the bucket uploads; remembers each of its documents, and since when it is stored."""

    def __init__(self, patch: pytest.MonkeyPatch, clock: Clock, **document: Any) -> None:
        make_bucket("uploads", **document)
        self.client = client("s3")
        self.history: list[tuple[float, dict[str, Any]]] = [(EVER, document)]
        operation = "put_bucket_notification_configuration"
        put = getattr(self.client, operation)

        def remember(**call: Any) -> None:
            put(**call)
            self.history.append((clock(), notification("uploads")))

        patch.setattr(self.client, operation, remember)

    def notifies(self, via: Callable[[Any], bool], moment: float) -> bool:
        """Return whether it surely notifies of an event: by every document it may be using."""
        older = [stored for since, stored in self.history if since <= moment - HEEDED_AFTER]
        newer = [
            stored for since, stored in self.history if moment - HEEDED_AFTER < since <= moment
        ]
        return all(via(stored) for stored in [older[-1], *newer])


class TimedRules:
    """Remembers when the rule of EventBridge was added and removed."""

    def __init__(self, patch: pytest.MonkeyPatch, clock: Clock) -> None:
        self.log: list[tuple[float, bool]] = [(EVER, False)]
        for operation, exists in (("put_targets", True), ("remove_targets", False)):
            call = getattr(client("events"), operation)
            logged = partial(self._logged, clock, call, exists)
            patch.setattr(client("events"), operation, logged)

    def _logged(self, clock: Clock, call: Any, exists: bool, **wanted: Any) -> Any:  # noqa: FBT001
        self.log.append((clock(), exists))
        return call(**wanted)

    def listens(self, moment: float) -> bool:
        return [exists for since, exists in self.log if since <= moment][-1]


def by_queue(document: Any) -> bool:
    return notifications.is_attached(document, OURS, INGRESS_ARN)


def attached(via: str) -> dict[str, Any]:
    if via == "sqs":
        return notifications.attach({}, OURS, INGRESS_ARN)
    return notifications.enable_eventbridge({})


def lost(s3: LateS3, listens: Callable[[float], bool], begin: float, end: float) -> list[float]:
    """Return the moments whose events reach the queue by neither transport."""
    moments = [begin - 1_000 + second for second in range(round(end - begin) + 3_000)]
    return [
        moment - begin
        for moment in moments
        if not s3.notifies(by_queue, moment)
        and not (s3.notifies(notifications.sends_to_eventbridge, moment) and listens(moment))
    ]


def update(then: str, first: str, overlap: str = "600", id_: str = "r") -> dict[str, Any]:
    """Return CloudFormation's request where `via` has changed."""
    same = {"Overlap": overlap, "StateTable": TABLE}
    now, before = ({**properties(via), **same} for via in (then, first))
    return {**request("Update", now, before), "RequestId": id_}


@pytest.mark.usefixtures("state_table")
@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
def test_a_deploy_that_changes_the_transport_loses_no_event(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    clock = Clock()
    s3, begin = LateS3(monkeypatch, clock, **attached(first)), clock()
    apply(update(then, first), s3.client, lambda _: dynamodb, clock.sleep, clock)
    end = clock()

    def listens(moment: float) -> bool:
        """CloudFormation makes the rule before it calls, and removes it when that is done."""
        return moment >= begin if then == "eventbridge" else moment <= end

    assert lost(s3, listens, begin, end) == []
    assert by_queue(notification("uploads")) == (then == "sqs")
    assert end - begin == 600


@pytest.mark.usefixtures("state_table")
def test_the_clock_sees_the_gap_of_a_change_at_once(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    s3, begin = LateS3(monkeypatch, clock, **attached("sqs")), clock()
    apply(update("eventbridge", "sqs", "0"), s3.client, lambda _: dynamodb, clock.sleep, clock)
    assert len(lost(s3, lambda _: True, begin, clock())) == HEEDED_AFTER


@pytest.mark.usefixtures("state_table")
@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
@pytest.mark.parametrize("after", [0, 1, 299, 300, 599])
def test_a_deploy_that_is_rolled_back_in_between_loses_no_event(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch, first: str, then: str, after: int
) -> None:
    """The first request sleeps on while CloudFormation asks for the old transport again."""
    clock = Clock()
    s3, begin = LateS3(monkeypatch, clock, **attached(first)), clock()
    asleep, awake = threading.Event(), threading.Event()

    def sleep(_: float) -> None:
        asleep.set()
        assert awake.wait(30)

    forward = threading.Thread(
        target=lambda: apply(update(then, first), s3.client, lambda _: dynamodb, sleep, clock)
    )
    forward.start()
    assert asleep.wait(30)
    clock.now = begin + after

    def meanwhile(seconds: float) -> None:
        clock.now = begin + 600
        awake.set()
        forward.join(30)
        clock.now = begin + after + seconds

    back = update(first, then, id_="rolled back")
    apply(back, s3.client, lambda _: dynamodb, meanwhile, clock)
    awake.set()
    forward.join(30)
    end = clock()

    def listens(moment: float) -> bool:
        return begin <= moment <= end if then == "eventbridge" else True

    assert lost(s3, listens, begin, end) == []
    assert by_queue(notification("uploads")) == (first == "sqs")


@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
@pytest.mark.parametrize("pauses", [(600,), (1, 1, 1_000), (599, 1), (300, 300)])
def test_attaching_by_another_transport_loses_no_event(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, first: str, then: str, pauses: tuple[int, ...]
) -> None:
    clock = Clock()
    s3, rules, buckets = attaching(deploy(), monkeypatch, clock)
    buckets.attach("uploads", first)  # type: ignore[arg-type] # one of the two
    clock.sleep(5_000)
    begin = clock()
    result = buckets.attach("uploads", then)  # type: ignore[arg-type]
    for pause in pauses:
        assert result.both
        clock.sleep(pause)
        result = buckets.attach("uploads", then)  # type: ignore[arg-type]
    assert not result.both
    assert lost(s3, rules.listens, begin, clock()) == []
    assert buckets.read_status("uploads").via == then


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_backfill_waits_for_the_cutover(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, via: str
) -> None:
    clock = Clock()
    account = deploy()
    s3, rules, buckets = attaching(account, monkeypatch, clock)
    switches = Cutovers(TABLE, account.dynamodb)
    switches.require("uploads", clock())  # of a bucket that nobody attached here nothing is known
    begin = clock()
    buckets.attach("uploads", via)  # type: ignore[arg-type]
    with pytest.raises(BucketcastError, match=r"an object put before 1970-01-12 13:56:41Z"):
        switches.require("uploads", clock())
    clock.sleep(599)
    with pytest.raises(BucketcastError):
        switches.require("uploads", clock())
    clock.sleep(1)
    switches.require("uploads", clock())
    gap = lost(s3, rules.listens, begin, clock())
    assert not [moment for moment in gap if moment >= clock() - begin]
    # To attach again changes nothing, and so it puts nothing off.
    buckets.attach("uploads", via)  # type: ignore[arg-type]
    switches.require("uploads", clock())


def attaching(
    account: MotoAws, patch: pytest.MonkeyPatch, clock: Clock
) -> tuple[LateS3, TimedRules, Attachments]:
    account.sqs.create_queue(QueueName=OURS)
    admit(account, POLICY)
    buckets = Attachments(deployed.find("Bucketcast", account), account, clock)
    return LateS3(patch, clock), TimedRules(patch, clock), buckets
