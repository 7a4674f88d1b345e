"""S3 applies a change of a bucket's notifications late: no event of these minutes may be lost.

The S3 here is the worst that its documentation allows: what is taken away is gone at once, and
what is added is heeded 300 s after the call. The time is made up; an event is put at every second.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from bucketcast import deployment as deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.attachment_times import AttachmentTimes
from bucketcast.notifications.aws.attachments import Attachments
from functions.custom_resources import bucket as custom_bucket
from tests.unit.conftest import Deploy
from tests.unit.functions.test_custom_resources import in_state, properties, request
from tests.unit.listen.test_listeners import Clock
from tests.unit.moto_aws import INGRESS_ARN, TABLE, MotoAws, client, make_bucket, notification
from tests.unit.notifications.command.test_attach import POLICY, admit

apply: Any = custom_bucket.apply  # the tests hand in fakes
HEEDED_AFTER = 300
OURS = "Bucketcast-ingress"
TRANSPORTS = [("sqs", "eventbridge"), ("eventbridge", "sqs")]
EVER = 0.0


class LateS3:
    """S3 with the bucket uploads; remembers each of its documents, and since when it is stored."""

    def __init__(self, patch: pytest.MonkeyPatch, clock: Clock) -> None:
        make_bucket("uploads")
        self.client = client("s3")
        self.history: list[tuple[float, dict[str, Any]]] = [(EVER, {})]
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
    return notifications.our_part(document, OURS, INGRESS_ARN) is not None


def lost(s3: LateS3, listens: Callable[[float], bool], begin: float, end: float) -> list[float]:
    """Return the moments whose events reach the queue by neither transport."""
    moments = [begin - 1_000 + second for second in range(round(end - begin) + 3_000)]
    return [
        moment - begin
        for moment in moments
        if not s3.notifies(by_queue, moment)
        and not (s3.notifies(notifications.sends_to_eventbridge, moment) and listens(moment))
    ]


class Deploys:
    """Deploys the bucket at made-up times; CloudFormation's rule is there as long as it should."""

    def __init__(self, patch: pytest.MonkeyPatch, dynamodb: Any) -> None:
        self.clock = Clock()
        self.s3 = LateS3(patch, self.clock)
        self._dynamodb = dynamodb
        self._rule: list[tuple[float, bool]] = [(EVER, False)]

    def __call__(self, via: str, before: str = "", state: str = "UPDATE_IN_PROGRESS") -> None:
        same = {"TakesEffect": "600", "StateTable": TABLE}
        wanted = {**properties(via), **same}
        old = {**properties(before), **same} if before else None
        if via != "sqs":
            self._rule.append((self.clock(), True))
        event = request("Update" if before else "Create", wanted, old)
        clients = in_state(state, self._dynamodb)
        apply(event, self.s3.client, clients, self.clock.sleep, self.clock)
        if via == "sqs":
            self._rule.append((self.clock(), False))

    def begin(self, via: str) -> float:
        """Deploy it by this transport, which S3 has applied by the time that is returned."""
        self(via)
        self.clock.sleep(5_000)
        return self.clock()

    def lost(self, begin: float) -> list[float]:
        return lost(self.s3, self._listens, begin, self.clock())

    def _listens(self, moment: float) -> bool:
        return [exists for since, exists in self._rule if since <= moment][-1]


@pytest.fixture
def deploys(monkeypatch: pytest.MonkeyPatch, dynamodb: Any, state_table: str) -> Deploys:  # noqa: ARG001 - it is written to
    return Deploys(monkeypatch, dynamodb)


@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
def test_two_deploys_that_change_the_transport_lose_no_event(
    deploys: Deploys, first: str, then: str
) -> None:
    begin = deploys.begin(first)
    deploys("both", first)
    deploys.clock.sleep(600)
    deploys(then, "both")
    assert deploys.lost(begin) == []
    assert by_queue(notification("uploads")) == (then == "sqs")


@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
@pytest.mark.parametrize("between", ["", "both"])
def test_a_deploy_that_would_lose_events_is_refused_and_rolled_back(
    deploys: Deploys, first: str, then: str, between: str
) -> None:
    """At once, or before S3 has applied that both were wanted."""
    begin = deploys.begin(first)
    if between:
        deploys(between, first)
        deploys.clock.sleep(599)
    expected = "an object put before" if between else 'deploy with via = "both" first'
    with pytest.raises(BucketcastError, match=expected):
        deploys(then, between or first)
    deploys(between or first, then, "UPDATE_ROLLBACK_IN_PROGRESS")
    assert deploys.lost(begin) == []


@contextmanager
def ends_after_the_write(s3: LateS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What writes a document ends right after that."""
    put = s3.client.put_bucket_notification_configuration

    def end(**call: Any) -> None:
        put(**call)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(s3.client, "put_bucket_notification_configuration", end)
        with pytest.raises(SystemExit):
            yield


def test_a_deploy_that_ends_right_after_the_write_loses_no_event(
    deploys: Deploys, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = deploys.begin("sqs")
    with ends_after_the_write(deploys.s3, monkeypatch):
        deploys("both", "sqs")
    deploys("both", "sqs")
    with pytest.raises(BucketcastError, match="an object put before"):
        deploys("eventbridge", "both")
    deploys.clock.sleep(600)
    deploys("eventbridge", "both")
    assert deploys.lost(begin) == []


def test_the_clock_sees_the_gap_of_a_change_at_once(deploys: Deploys) -> None:
    begin = deploys.begin("sqs")
    deploys("eventbridge", "sqs", "UPDATE_ROLLBACK_IN_PROGRESS")  # which is never refused
    assert len(deploys.lost(begin)) == HEEDED_AFTER


@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
def test_attaching_by_another_transport_loses_no_event(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, first: Any, then: Any
) -> None:
    clock = Clock()
    s3, rules, buckets = attaching(deploy(), monkeypatch, clock)
    buckets.attach("uploads", first)
    clock.sleep(5_000)
    begin = clock()
    buckets.attach("uploads", then)
    for pause in (0, 599):
        clock.sleep(pause)
        with pytest.raises(BucketcastError, match="an object put before"):
            buckets.detach("uploads", first)
    clock.sleep(1)
    buckets.detach("uploads", first)
    assert lost(s3, rules.listens, begin, clock()) == []
    assert buckets.read_status("uploads").via == then


@pytest.mark.parametrize(("first", "then"), TRANSPORTS)
def test_an_attach_that_ends_right_after_the_write_loses_no_event(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, first: Any, then: Any
) -> None:
    clock = Clock()
    account = deploy()
    s3, rules, buckets = attaching(account, monkeypatch, clock)
    buckets.attach("uploads", first)
    clock.sleep(5_000)
    begin = clock()
    with ends_after_the_write(s3, monkeypatch):
        buckets.attach("uploads", then)
    with pytest.raises(BucketcastError, match="an object put before"):
        AttachmentTimes(TABLE, account.dynamodb).require("uploads", clock())  # backfill asks it
    with pytest.raises(BucketcastError, match="an object put before"):
        buckets.detach("uploads", first)
    clock.sleep(600)
    buckets.detach("uploads", first)
    assert lost(s3, rules.listens, begin, clock()) == []


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_backfill_waits_until_s3_applies_what_was_attached(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, via: Any
) -> None:
    clock = Clock()
    account = deploy()
    s3, rules, buckets = attaching(account, monkeypatch, clock)
    times = AttachmentTimes(TABLE, account.dynamodb)
    times.require("uploads", clock())  # of a bucket that nobody attached here nothing is known
    begin = clock()
    buckets.attach("uploads", via)
    with pytest.raises(BucketcastError, match=r"an object put before 2027-01-15 08:10:01Z"):
        times.require("uploads", clock())
    clock.sleep(599)
    with pytest.raises(BucketcastError):
        times.require("uploads", clock())
    clock.sleep(1)
    times.require("uploads", clock())
    gap = lost(s3, rules.listens, begin, clock())
    assert not [moment for moment in gap if moment >= clock() - begin]
    # To attach again changes nothing, and so it puts nothing off.
    buckets.attach("uploads", via)
    times.require("uploads", clock())


def attaching(
    account: MotoAws, patch: pytest.MonkeyPatch, clock: Clock
) -> tuple[LateS3, TimedRules, Attachments]:
    account.sqs.create_queue(QueueName=OURS)
    admit(account, POLICY)
    buckets = Attachments(deployed.find("Bucketcast", account), account, clock)
    return LateS3(patch, clock), TimedRules(patch, clock), buckets
