"""Dynamic targets: made, changed and removed by calls that may be killed at any step."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ReadTimeoutError
from msgspec.structs import replace

from bucketcast.delivery.alarms import queue_alarms
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.targets import DynamicTargets, NoDynamicTargetError
from bucketcast.dynamic_targets.aws.tasks import (
    GRACE_SECONDS,
    LEASE_SECONDS,
    RECHECK_SECONDS,
    TargetTasks,
)
from bucketcast.errors import BucketcastError
from bucketcast.rules.conditions import Fact
from bucketcast.state.dynamic_targets import LostTaskError
from bucketcast.state.items import DynamicTarget
from tests.unit.dynamic_targets.account import Account, Killed
from tests.unit.moto_aws import DYNAMIC, TOPIC

HOOK = TargetArn("audit", "webhook")
OPEN = {"endpoint": "https://example.org/hook"}
HIDDEN = {**OPEN, "auth_token": "hunter2"}
ALARMS = ("dead", "waiting")
CALLS = {"creation": 14, "change": 13, "on": 15, "removal": 14, "discard": 16, "return": 11}
"""How many calls to AWS each makes. A `return` is the creation of a target whose events wait."""


def put(targets: DynamicTargets, values: Mapping[str, str] = HIDDEN, *, merge: bool = False) -> str:
    return targets.put("webhook", "audit", values, merge=merge).outcome


def made(account: Account) -> DynamicTarget:
    """Create the target; return what is stored of it."""
    put(account.targets())
    (target,) = account.table.targets()
    return target


def expire(account: Account) -> None:
    account.now += LEASE_SECONDS + 1


def assert_empty(account: Account) -> None:
    assert account.queues() == set()
    assert account.mapped() == set()
    assert account.secret_texts() == {}
    assert account.alarms() == {}
    assert account.table.targets() == []
    assert account.table.tasks() == []


def assert_only(account: Account, token: str, state: str = "on") -> None:
    (target,) = account.table.targets()
    assert target.state == state
    assert account.queues() == {target.queue, target.dead}
    assert account.mapped() == ({target.queue} if state == "on" else set())
    assert account.secret_texts() == {target.secret: {"auth_token": token}}
    name = target.queue.removesuffix(".fifo")
    assert set(account.alarms()) == {f"{name}-{part}" for part in ALARMS}
    assert account.table.tasks() == []


def test_put_creates_all_resources_and_ingest_finds_the_queue(account: Account) -> None:
    cache = account.destination_cache()
    assert cache.queue(HOOK) is None
    key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    assert put(account.targets(replace(DYNAMIC, kms_key=key))) == "created"
    assert_only(account, "hunter2")
    (target,) = account.table.targets()
    cache.begin()
    assert cache.queue(HOOK) == target.queue
    assert target.settings["auth_token"] == f"secret:{target.secret}#auth_token"
    assert "hunter2" not in repr(target)
    for queue in (target.dead, target.queue):
        attributes = account.sqs.get_queue_attributes(
            QueueUrl=DYNAMIC.url(queue), AttributeNames=["All"]
        )["Attributes"]
        assert attributes["KmsMasterKeyId"] == key
        assert attributes["MessageRetentionPeriod"] == str(14 * 86_400)
        assert "aws:SecureTransport" in attributes["Policy"]
    assert attributes["VisibilityTimeout"] == "360"
    assert target.dead in attributes["RedrivePolicy"]


def test_ingest_reads_the_facts_that_a_changed_target_asks_for(account: Account) -> None:
    cache = account.destination_cache()
    targets = account.targets(replace(DYNAMIC, object_facts=True))
    put(targets)
    wanted = []
    for facts in ("tags", "metadata"):
        put(targets, {"facts": facts}, merge=True)
        cache.begin()
        wanted.append(cache.wants(HOOK).facts)
    assert wanted == [Fact.TAGS, Fact.HEAD]


def test_put_creates_the_alarms_of_a_deployed_target(account: Account) -> None:
    target = made(account)
    queue, dead = target.queue, target.dead
    for off in (False, True):
        put(account.targets(), {"enable": "off" if off else "on"}, merge=True)
        for wanted in queue_alarms("Bucketcast", queue, "webhook:audit", queue, dead, off=off):
            alarm = account.alarms()[wanted["AlarmName"]]
            assert alarm.items() >= {**wanted, "AlarmActions": [TOPIC]}.items()
            assert not alarm.get("OKActions")


def test_deleted_alarms_are_created_again_or_ignored(account: Account) -> None:
    target = made(account)
    account.cloudwatch.delete_alarms(AlarmNames=[f"{target.queue}-dead"])
    assert put(account.targets()) == "unchanged"
    assert_only(account, "hunter2")
    account.cloudwatch.delete_alarms(AlarmNames=[f"{target.queue}-dead"])
    account.targets().remove(HOOK, discard=True)
    assert_empty(account)


def test_put_makes_as_many_calls_beside_many_targets(account: Account) -> None:
    def calls_of(id_: str) -> list[str]:
        before = len(account.calls)
        account.targets().put("webhook", id_, HIDDEN)
        return account.calls[before:]

    first = calls_of("first")
    for number in range(30):
        account.targets().put("webhook", f"one-{number}", HIDDEN)
    assert calls_of("last") == first


def test_target_also_in_the_deploy_can_be_removed(account: Account) -> None:
    put(account.targets())
    account.targets(deployed=frozenset({str(HOOK)})).remove(HOOK, discard=True)
    assert_empty(account)


def test_removing_a_missing_target_suggests_an_existing_one(account: Account) -> None:
    put(account.targets())
    with pytest.raises(NoDynamicTargetError, match="did you mean 'webhook:audit'"):
        account.targets().remove(TargetArn("audits", "webhook"))


def test_discard_removes_everything_and_counts_it(account: Account) -> None:
    target = made(account)
    account.fill(target.queue, target.queue, target.dead)
    removed = account.targets().remove(HOOK, discard=True)
    assert (removed.waiting, removed.dead, removed.discarded) == (2, 1, True)
    assert_empty(account)


def test_waiting_events_are_kept_until_the_target_is_created_again(account: Account) -> None:
    before = made(account)
    account.fill(before.queue)
    removed = account.targets().remove(HOOK)
    assert (removed.waiting, removed.dead, removed.discarded) == (1, 0, False)
    (kept,) = account.table.targets()
    assert (kept.state, kept.settings, kept.secret) == ("kept", {}, "")
    assert (account.mapped(), account.secret_texts(), account.alarms()) == (set(), {}, {})
    assert account.destination_cache().queue(HOOK) is None
    with pytest.raises(NoDynamicTargetError):
        account.targets().remove(HOOK)
    account.now += GRACE_SECONDS + 1
    account.targets().sweep()
    assert account.queues() == {kept.queue, kept.dead}, "something waits there"
    assert put(account.targets()) == "created"
    assert_only(account, "hunter2")
    (again,) = account.table.targets()
    assert again.queue == before.queue


def test_kept_messages_can_be_discarded_later(account: Account) -> None:
    put(account.targets())
    account.targets().remove(HOOK)
    account.targets().remove(HOOK, discard=True)
    assert_empty(account)


def test_empty_queue_is_removed_after_the_grace_period(account: Account) -> None:
    target = made(account)
    account.targets().remove(HOOK)
    account.targets().sweep()
    assert account.queues() == {target.queue, target.dead}, "SQS's counts are not right at once"
    account.now += GRACE_SECONDS + 1
    account.fill(target.dead)
    account.targets().sweep()
    assert account.queues() == {target.queue, target.dead}
    account.sqs.purge_queue(QueueUrl=DYNAMIC.url(target.dead))
    account.now += RECHECK_SECONDS + 1
    account.targets().sweep()
    assert_empty(account)


def test_target_created_again_gets_another_queue(account: Account) -> None:
    """SQS refuses a name for 60 seconds after a queue of that name was deleted."""
    before = made(account)
    account.targets().remove(HOOK, discard=True)
    assert made(account).queue != before.queue


def test_fifo_stack_creates_fifo_queues(account: Account) -> None:
    put(account.targets(replace(DYNAMIC, queue_end=".fifo")))
    (target,) = account.table.targets()
    assert target.queue.endswith(".fifo")
    assert target.dead.endswith("-dead.fifo")
    assert_only(account, "hunter2")


@pytest.mark.parametrize("cut", [Account.killed, Account.unanswered])
@pytest.mark.parametrize(
    ("killed", "step"), [(name, step) for name, calls in CALLS.items() for step in range(calls)]
)
def test_killed_call_leaves_a_whole_target_or_none(
    account: Account, step: int, killed: str, cut: Any
) -> None:
    waiting: set[str] = set()
    if killed != "creation":
        put(account.targets(), {**HIDDEN, "enable": "off" if killed == "on" else "on"})
    if killed == "return":
        (before,) = account.table.targets()
        account.fill(before.queue)
        account.targets().remove(HOOK)
        waiting = {before.queue, before.dead}
    calls: dict[str, Callable[[], object]] = {
        "change": lambda: put(account.targets(), {**HIDDEN, "auth_token": "new"}),
        "removal": lambda: account.targets().remove(HOOK),
        "discard": lambda: account.targets().remove(HOOK, discard=True),
    }
    with suppress(Killed, ReadTimeoutError), cut(account, step):
        calls.get(killed, lambda: put(account.targets()))()
    for seconds in (LEASE_SECONDS, RECHECK_SECONDS):
        account.now += seconds + 1
        account.targets().sweep()
    assert account.queues() >= waiting
    if not waiting and (targets := account.table.targets()):
        (token,) = account.secret_texts()[targets[0].secret].values()
        assert_only(account, token, targets[0].state)
    elif not waiting:
        assert_empty(account)
    put(account.targets(), {**HIDDEN, "auth_token": "newest"})
    assert_only(account, "newest")


def test_killed_steps_are_all_of_every_call(account: Account) -> None:
    calls: dict[str, Callable[[], object]] = {
        "creation": lambda: put(account.targets()),
        "change": lambda: put(account.targets(), {**HIDDEN, "auth_token": "new"}),
        "removal": lambda: account.targets().remove(HOOK),
        "return": lambda: put(account.targets()),
        "discard": lambda: account.targets().remove(HOOK, discard=True),
    }
    counted = {}
    for name, call in calls.items():
        with account.killed(-1):
            call()
        counted[name] = len(account.calls)
    put(account.targets(), {**HIDDEN, "enable": "off"})
    with account.killed(-1):
        put(account.targets())
    assert counted | {"on": len(account.calls)} == CALLS


def test_a_failed_call_removes_what_it_created(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = account.targets()
    refused = Mock(side_effect=RuntimeError("Lambda said no"))
    monkeypatch.setattr(targets._resources, "map", refused)
    with pytest.raises(RuntimeError, match="Lambda said no"):
        put(targets)
    assert_empty(account)


def test_what_cannot_be_settled_stops_no_other_call(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed call of one user, whose target nobody may remove any more."""
    with suppress(Killed), account.killed(6):
        put(account.targets())
    expire(account)
    monkeypatch.setattr(TargetTasks, "take_over", Mock(side_effect=BucketcastError("no")))
    assert account.targets().put("webhook", "other", OPEN).outcome == "created"


def test_a_key_that_dynamodb_refuses_is_no_target(account: Account) -> None:
    assert account.table.get(TargetArn("x" * 1_020, "webhook").key) is None


def test_call_waits_until_another_has_ended(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = account.targets(timeout=30.0)
    other = targets._tasks.begin(HOOK)
    monkeypatch.setattr(time, "sleep", lambda _: account.table.release(other))
    assert put(targets) == "created"


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_call_that_lost_its_task_changes_nothing(
    account: Account, *, waits: bool, fails: bool
) -> None:
    if waits:
        account.fill(made(account).queue)
        account.targets().remove(HOOK)
    slow = account.targets()
    map_it = slow._resources.map

    def overtaken(target: DynamicTarget) -> None:
        map_it(target)
        expire(account)
        put(account.targets(), {**HIDDEN, "auth_token": "quick"})
        if fails:
            raise RuntimeError("no answer")

    slow._resources.map = overtaken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError if fails else LostTaskError):
        put(slow)
    expire(account)
    account.targets().sweep()
    (target,) = account.table.targets()
    assert account.secret_texts()[target.secret] == {"auth_token": "quick"}
    assert account.mapped() == {target.queue}
    assert account.queues() == {target.queue, target.dead}
    assert len(account.secret_texts()) == 1
