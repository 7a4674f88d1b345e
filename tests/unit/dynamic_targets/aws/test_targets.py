"""Dynamic targets: made, changed and removed by calls that may be killed at any step."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from moto.core.botocore_stubber import BotocoreStubber
from msgspec.structs import replace

from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.targets import (
    GRACE_SECONDS,
    LEASE_SECONDS,
    LOOK_AGAIN_SECONDS,
    DynamicTargets,
    NoDynamicTargetError,
)
from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.state.dynamic_targets import DynamicTarget, LostTaskError
from tests.unit.dynamic_targets.made import DYNAMIC, TOPIC, Account, Killed

HOOK = TargetArn("audit", "webhook")
OPEN = {"endpoint": "https://example.org/hook"}
HIDDEN = {**OPEN, "auth_token": "hunter2"}
ALARMS = ("dead", "waiting")


@pytest.fixture
def account(state_table: str) -> Account:
    return Account(state_table)


def put(targets: DynamicTargets, values: Mapping[str, str] = HIDDEN, **more: bool) -> str:
    return targets.put("webhook", "audit", values, **more).what


def expire(account: Account) -> None:
    account.now += LEASE_SECONDS + 1


def assert_empty(account: Account) -> None:
    assert account.queues() == set()
    assert account.mapped() == set()
    assert account.secret_texts() == {}
    assert account.alarms() == {}
    assert account.table.targets() == []
    assert list(account.table.tasks.all()) == []


def assert_only(account: Account, token: str) -> None:
    (target,) = account.table.targets()
    assert account.queues() == {target.queue, target.dead}
    assert account.mapped() == {target.queue}
    assert account.secret_texts() == {target.secret: {"auth_token": token}}
    name = target.queue.removesuffix(".fifo")
    assert set(account.alarms()) == {f"{name}-{part}" for part in ALARMS}
    assert list(account.table.tasks.all()) == []


def test_a_target_has_a_queue_a_mapping_a_secret_and_is_found_at_once(account: Account) -> None:
    book = account.book()
    assert book.queue(HOOK) is None
    assert put(account.targets()) == "made"
    assert_only(account, "hunter2")
    (target,) = account.table.targets()
    book.begin()
    assert book.queue(HOOK) == target.queue
    assert target.settings["auth_token"] == f"secret:{target.secret}#auth_token"
    assert "hunter2" not in repr(target)
    attributes = account.sqs.get_queue_attributes(
        QueueUrl=DYNAMIC.url(target.queue), AttributeNames=["All"]
    )["Attributes"]
    assert attributes["VisibilityTimeout"] == "360"
    assert attributes["MessageRetentionPeriod"] == str(14 * 86_400)
    assert target.dead in attributes["RedrivePolicy"]
    assert "aws:SecureTransport" in attributes["Policy"]


def test_a_stack_with_a_key_has_its_queues_encrypted_by_it(account: Account) -> None:
    key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    put(account.targets(replace(DYNAMIC, kms_key=key)))
    (target,) = account.table.targets()
    for queue in (target.queue, target.dead):
        found = account.sqs.get_queue_attributes(
            QueueUrl=DYNAMIC.url(queue), AttributeNames=["All"]
        )["Attributes"]
        assert found["KmsMasterKeyId"] == key


def test_a_queue_is_as_long_invisible_as_the_function_of_today_runs(account: Account) -> None:
    """Lambda takes no queue whose visibility time-out is shorter, as after a deploy raised it."""
    put(account.targets())
    put(account.targets(), {"enable": "off"}, merge=True)
    longer = replace(DYNAMIC, visibility=930)
    put(account.targets(longer), {"enable": "on"}, merge=True)
    (target,) = account.table.targets()
    found = account.sqs.get_queue_attributes(
        QueueUrl=DYNAMIC.url(target.queue), AttributeNames=["VisibilityTimeout"]
    )
    assert found["Attributes"]["VisibilityTimeout"] == "930"


def test_a_target_has_the_alarms_of_a_deployed_one(account: Account) -> None:
    put(account.targets())
    (target,) = account.table.targets()
    made = {name.removeprefix(f"{target.queue}-"): each for name, each in account.alarms().items()}
    assert made.keys() == set(ALARMS)
    looked_at = {
        (metric["MetricName"], dimension["Value"])
        for each in made.values()
        for query in each["Metrics"]
        if (metric := query.get("MetricStat", {}).get("Metric"))
        for dimension in metric["Dimensions"]
    }
    assert looked_at == {
        ("ApproximateNumberOfMessagesVisible", target.dead),
        ("ApproximateAgeOfOldestMessage", target.queue),
        ("OldestEventAge", target.queue),
    }
    assert [made[part]["Threshold"] for part in ALARMS] == [0, 900]
    assert all(each["AlarmActions"] == [TOPIC] for each in made.values())
    assert not any(each.get("OKActions") for each in made.values())
    assert {each["TreatMissingData"] for each in made.values()} == {"notBreaching"}
    put(account.targets(), {"enable": "off"}, merge=True)
    off = account.alarms()[f"{target.queue}-waiting"]
    assert off["Threshold"] == 10 * 86_400


def test_alarms_that_somebody_removed_come_back_and_harm_no_removal(account: Account) -> None:
    put(account.targets())
    (target,) = account.table.targets()
    account.cloudwatch.delete_alarms(AlarmNames=[f"{target.queue}-dead"])
    assert put(account.targets()) == "unchanged"
    assert_only(account, "hunter2")
    account.cloudwatch.delete_alarms(AlarmNames=[f"{target.queue}-dead"])
    account.targets().remove(HOOK, discard=True)
    assert_empty(account)


def test_alarms_that_cannot_be_made_again_hold_up_nobody(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(account.targets())
    targets = account.targets()

    def refused(_: object) -> None:
        raise RuntimeError("CloudWatch said no")

    monkeypatch.setattr(targets._alarms, "make", refused)
    with pytest.raises(RuntimeError, match="CloudWatch said no"):
        put(targets)
    assert list(account.table.tasks.all()) == []
    assert put(account.targets()) == "unchanged"


def test_the_same_again_changes_nothing(account: Account) -> None:
    put(account.targets())
    before = account.table.version(), account.table.targets()
    assert put(account.targets()) == "unchanged"
    assert (account.table.version(), account.table.targets()) == before
    assert_only(account, "hunter2")


def test_other_settings_keep_the_queue_and_replace_the_secret(account: Account) -> None:
    put(account.targets())
    (before,) = account.table.targets()
    assert put(account.targets(), {**HIDDEN, "auth_token": "new"}) == "changed"
    (after,) = account.table.targets()
    assert (after.queue, after.number) == (before.queue, before.number + 1)
    assert_only(account, "new")
    assert put(account.targets(), OPEN) == "changed"
    assert account.secret_texts() == {}


def test_merge_leaves_what_is_not_given(account: Account) -> None:
    put(account.targets())
    put(account.targets(), {"timeout": "20s"}, merge=True)
    assert_only(account, "hunter2")
    (target,) = account.table.targets()
    assert target.settings["timeout"] == "20s"
    assert target.settings["endpoint"] == OPEN["endpoint"]
    put(account.targets(), {"auth_token": ""}, merge=True)
    assert account.secret_texts() == {}


def test_switched_off_it_keeps_its_settings_and_its_events_wait(account: Account) -> None:
    put(account.targets())
    put(account.targets(), {"enable": "off"}, merge=True)
    (target,) = account.table.targets()
    assert target.state == "off"
    assert account.mapped() == set()
    assert account.book().queue(HOOK) == target.queue
    put(account.targets(), {"enable": "on"}, merge=True)
    assert_only(account, "hunter2")


def test_what_is_wrong_makes_nothing(account: Account) -> None:
    with pytest.raises(ConfigErrors):
        put(account.targets(), {"endpoint": "no url"})
    with pytest.raises(ConfigErrors):
        put(account.targets(), {"timeout": "10s"}, merge=True)
    assert_empty(account)


def test_a_deployed_target_is_refused_with_words(account: Account) -> None:
    targets = account.targets(deployed=frozenset({str(HOOK)}))
    with pytest.raises(BucketcastError, match=r"audit:webhook is in bucketcast\.toml: change"):
        put(targets)
    with pytest.raises(BucketcastError, match="take it out there"):
        targets.remove(HOOK)
    assert_empty(account)


def test_one_that_a_later_deploy_has_too_can_still_be_removed(account: Account) -> None:
    put(account.targets())
    account.targets(deployed=frozenset({str(HOOK)})).remove(HOOK, discard=True)
    assert_empty(account)


def test_removing_a_missing_target_suggests_an_existing_one(account: Account) -> None:
    put(account.targets())
    with pytest.raises(NoDynamicTargetError, match="did you mean 'arn:minio:sqs::audit:webhook'"):
        account.targets().remove(TargetArn("audits", "webhook"))


def test_discard_removes_everything_and_counts_it(account: Account) -> None:
    put(account.targets())
    (target,) = account.table.targets()
    account.fill(target.queue, target.queue, target.dead)
    removed = account.targets().remove(HOOK, discard=True)
    assert (removed.waiting, removed.dead, removed.discarded) == (2, 1, True)
    assert_empty(account)


def test_what_waits_stays_until_the_target_is_created_again(account: Account) -> None:
    put(account.targets())
    (before,) = account.table.targets()
    account.fill(before.queue)
    removed = account.targets().remove(HOOK)
    assert (removed.waiting, removed.dead, removed.discarded) == (1, 0, False)
    (kept,) = account.table.targets()
    assert (kept.state, kept.settings, kept.secret) == ("kept", {}, "")
    assert (account.mapped(), account.secret_texts(), account.alarms()) == (set(), {}, {})
    assert account.book().queue(HOOK) is None
    with pytest.raises(NoDynamicTargetError):
        account.targets().remove(HOOK)
    account.now += GRACE_SECONDS + 1
    account.targets().sweep()
    assert account.queues() == {kept.queue, kept.dead}, "something waits there"
    assert put(account.targets()) == "made"
    assert_only(account, "hunter2")
    (again,) = account.table.targets()
    assert again.queue == before.queue


def test_kept_messages_can_be_discarded_later(account: Account) -> None:
    put(account.targets())
    account.targets().remove(HOOK)
    account.targets().remove(HOOK, discard=True)
    assert_empty(account)


def test_an_empty_queue_is_deleted_once_that_is_certain(account: Account) -> None:
    put(account.targets())
    (target,) = account.table.targets()
    account.targets().remove(HOOK)
    account.targets().sweep()
    assert account.queues() == {target.queue, target.dead}, "SQS's counts are not right at once"
    account.now += GRACE_SECONDS + 1
    account.fill(target.dead)
    account.targets().sweep()
    assert account.queues() == {target.queue, target.dead}
    account.sqs.purge_queue(QueueUrl=DYNAMIC.url(target.dead))
    account.now += LOOK_AGAIN_SECONDS + 1
    account.targets().sweep()
    assert_empty(account)


def test_made_again_at_once_it_has_a_queue_of_another_name(account: Account) -> None:
    """SQS refuses a name for 60 seconds after a queue of that name was deleted."""
    put(account.targets())
    (before,) = account.table.targets()
    account.targets().remove(HOOK, discard=True)
    put(account.targets())
    (after,) = account.table.targets()
    assert after.queue != before.queue


def test_an_ordered_stack_makes_ordered_queues(account: Account) -> None:
    put(account.targets(replace(DYNAMIC, queue_end=".fifo")))
    (target,) = account.table.targets()
    assert target.queue.endswith(".fifo")
    assert target.dead.endswith("-dead.fifo")
    assert_only(account, "hunter2")


@pytest.mark.parametrize("step", range(16))
def test_killed_while_it_is_made_it_leaves_nothing(account: Account, step: int) -> None:
    _killed(account, step, lambda: put(account.targets()))
    expire(account)
    account.targets().sweep()
    if account.table.targets():
        assert_only(account, "hunter2")
    else:
        assert_empty(account)
    put(account.targets())
    assert_only(account, "hunter2")


@pytest.mark.parametrize("step", range(16))
def test_killed_while_it_is_changed_it_is_as_before_or_as_wanted(
    account: Account, step: int
) -> None:
    put(account.targets())
    _killed(account, step, lambda: put(account.targets(), {**HIDDEN, "auth_token": "new"}))
    expire(account)
    account.targets().sweep()
    (target,) = account.table.targets()
    assert_only(account, account.secret_texts()[target.secret]["auth_token"])
    put(account.targets(), {**HIDDEN, "auth_token": "newest"})
    assert_only(account, "newest")


@pytest.mark.parametrize("discard", [True, False])
@pytest.mark.parametrize("step", range(16))
def test_killed_while_it_is_removed_it_is_there_or_gone(
    account: Account,
    step: int,
    discard: bool,  # noqa: FBT001
) -> None:
    put(account.targets())
    _killed(account, step, lambda: account.targets().remove(HOOK, discard=discard))
    expire(account)
    account.targets().sweep()
    account.now += LOOK_AGAIN_SECONDS + 1
    account.targets().sweep()
    if account.table.targets():
        assert_only(account, "hunter2")
    else:
        assert_empty(account)


@pytest.mark.parametrize("step", range(16))
def test_killed_while_it_is_made_again_what_waits_stays(account: Account, step: int) -> None:
    put(account.targets())
    (before,) = account.table.targets()
    account.fill(before.queue)
    account.targets().remove(HOOK)
    _killed(account, step, lambda: put(account.targets()))
    expire(account)
    account.targets().sweep()
    assert account.queues() == {before.queue, before.dead}
    put(account.targets())
    assert_only(account, "hunter2")


def _killed(account: Account, step: int, call: object) -> None:
    assert callable(call)
    try:
        with account.killed(step):
            call()
    except Killed:
        return
    assert step >= len(account.calls), "it ended by itself, so it made fewer calls"


def test_the_last_steps_of_every_call_are_among_those_that_were_killed(account: Account) -> None:
    for call in (
        lambda: put(account.targets()),
        lambda: put(account.targets(), {**HIDDEN, "auth_token": "new"}),
        lambda: account.targets().remove(HOOK),
        lambda: put(account.targets()),
        lambda: account.targets().remove(HOOK, discard=True),
    ):
        with account.killed(-1):
            call()
        assert len(account.calls) <= 16, account.calls


def test_a_failed_call_removes_what_it_created(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = account.targets()

    def refused(_: object) -> None:
        raise RuntimeError("Lambda said no")

    monkeypatch.setattr(targets._resources, "map", refused)
    with pytest.raises(RuntimeError, match="Lambda said no"):
        put(targets)
    assert_empty(account)


def test_another_call_is_waited_for_and_then_reported_as_running(account: Account) -> None:
    _killed(account, 6, lambda: put(account.targets()))
    with pytest.raises(
        BucketcastError, match="another call is at work on arn:minio:sqs::audit:webhook"
    ):
        put(account.targets())
    expire(account)
    assert put(account.targets()) == "made"
    assert_only(account, "hunter2")


def test_a_step_whose_answer_was_lost_is_the_call_s_own(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client repeats it; it was refused then, and the target given up as another call's."""
    put_item = account.dynamodb.put_item

    def twice(**given: Any) -> Any:
        put_item(**given)
        return put_item(**given)

    monkeypatch.setattr(account.dynamodb, "put_item", twice)
    assert put(account.targets()) == "made"
    assert_only(account, "hunter2")


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_one_that_was_thought_dead_can_no_more_change_anything(
    account: Account,
    waits: bool,  # noqa: FBT001
    fails: bool,  # noqa: FBT001
) -> None:
    if waits:
        put(account.targets())
        account.fill(account.table.targets()[0].queue)
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


@pytest.fixture
def calls_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moto answer one call at a time: its DynamoDB fails where two threads write at once."""
    answer, turn = BotocoreStubber.__call__, threading.RLock()

    def answer_in_turn(*args: object, **kwargs: object) -> object:
        with turn:
            return answer(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(BotocoreStubber, "__call__", answer_in_turn)


@pytest.mark.usefixtures("calls_in_turn")
def test_many_callers_at_once_each_get_their_own(account: Account) -> None:
    names = [f"t{n}" for n in range(12)]

    def make(name: str) -> None:
        account.targets(timeout=30.0).put("webhook", name, OPEN)

    threads = [threading.Thread(target=make, args=(name,)) for name in names * 2]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    stored = account.table.targets()
    assert sorted(each.id for each in stored) == sorted(names)
    assert account.mapped() == {each.queue for each in stored}
    assert account.queues() == {name for each in stored for name in (each.queue, each.dead)}
    assert list(account.table.tasks.all()) == []
