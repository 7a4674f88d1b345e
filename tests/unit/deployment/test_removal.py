"""A deploy that would remove a target is refused while something waits for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from bucketcast.aws import function_clients
from bucketcast.deployment.removal import Removal
from bucketcast.errors import BucketcastError
from bucketcast.state.dynamic_targets import DynamicTarget, State, Table, Task
from bucketcast.topics.aws.table import TopicTable, TopicWork
from bucketcast.topics.model import Topic
from functions.custom_resources import targets as custom_targets
from tests.unit.functions.test_custom_resources import answers, event, function
from tests.unit.samples import lambda_context

keep: Any = custom_targets.keep  # the tests hand in fakes
__all__ = ["answers", "function"]

HOOK, TABLE = "arn:minio:sqs::hook:webhook", "arn:minio:sqs::main:postgresql"
SETTLE = 60.0


class Account:
    """Two targets and their queues."""

    def __init__(self, sqs: Any) -> None:
        self.sqs = sqs
        self.now = 0.0
        self.meanwhile: dict[float, Any] = {}
        self.queues = {
            arn: [sqs.create_queue(QueueName=name + end)["QueueUrl"] for end in ("", "-dead")]
            for arn, name in ((HOOK, "Bucketcast-webhook-hook"), (TABLE, "Bucketcast-postgres-a"))
        }

    def put(self, arn: str, *, dead: bool = False) -> None:
        self.sqs.send_message(QueueUrl=self.queues[arn][dead], MessageBody="x")

    def take(self, arn: str) -> None:
        url = self.queues[arn][0]
        for message in self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]:
            self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for moment in [moment for moment in self.meanwhile if moment <= self.now]:
            self.meanwhile.pop(moment)()

    def require_empty(
        self, *kept: str, discard: tuple[str, ...] = (), settle: float = SETTLE
    ) -> None:
        removal = Removal(self.sqs, settle, SETTLE, lambda: self.now, self.sleep)
        after = {arn: self.queues[arn] for arn in kept}
        removal.require_empty(self.queues, after, discard)


@pytest.fixture
def account(sqs: Any) -> Account:
    return Account(sqs)


def test_the_queues_of_kept_targets_are_not_checked(account: Account) -> None:
    account.put(HOOK)
    account.put(TABLE)
    account.require_empty(HOOK, TABLE)
    assert account.now == 0


def test_waiting_messages_refuse_the_removal(account: Account) -> None:
    for _ in range(3):
        account.put(HOOK)
    account.put(HOOK, dead=True)
    with pytest.raises(BucketcastError) as refused:
        account.require_empty(TABLE)
    assert str(refused.value) == (
        "let waiting messages drain (`bucketcast target ls`), or keep their target with enable = "
        '"off"; to give them up, name the target in discard of [removed] in bucketcast.toml. '
        f"{HOOK} is to be removed, and there are 3 messages in Bucketcast-webhook-hook and "
        "1 messages in Bucketcast-webhook-hook-dead"
    )


def test_refusal_of_many_targets_begins_with_the_hint(sqs: Any) -> None:
    """What CloudFormation does not show any more are targets."""
    before = {
        f"arn:minio:sqs::customer-{number:02}:webhook": [
            sqs.create_queue(QueueName=f"Bucketcast-webhook-customer-{number:02}")["QueueUrl"]
        ]
        for number in range(9)
    }
    for (url,) in before.values():
        sqs.send_message(QueueUrl=url, MessageBody="x")
    removal = Removal(sqs, 0, 0, sleep=lambda _: None)
    with pytest.raises(BucketcastError) as refused:
        removal.require_empty(before, {}, ())
    text = str(refused.value)
    assert text.index("discard of [removed] in bucketcast.toml. ") < text.index(next(iter(before)))
    assert [arn for arn in before if f"{arn} is to be removed" in text] == list(before)


@pytest.mark.parametrize("state", ["in flight", "delayed"])
def test_messages_in_flight_and_delayed_count_as_waiting(account: Account, state: str) -> None:
    url = account.queues[HOOK][0]
    delay = 600 if state == "delayed" else 0
    account.sqs.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=delay)
    if state == "in flight":
        assert account.sqs.receive_message(QueueUrl=url)["Messages"]
    with pytest.raises(BucketcastError, match="is to be removed, and there are"):
        account.require_empty()


def test_discarded_targets_may_be_removed(account: Account) -> None:
    account.put(HOOK)
    account.require_empty(TABLE, discard=(HOOK,))
    with pytest.raises(BucketcastError, match="is to be removed, and there are"):
        account.require_empty(TABLE, discard=(TABLE,))


def test_empty_queue_is_checked_until_its_count_is_exact(account: Account) -> None:
    """SQS's counts lag, and what ingest had begun to send comes in the meantime."""
    account.require_empty(TABLE)
    assert account.now >= SETTLE
    account.meanwhile = {account.now + 40: lambda: account.put(HOOK)}
    with pytest.raises(BucketcastError, match="is to be removed, and there are"):
        account.require_empty(TABLE)


def test_removal_waits_for_the_function_to_deliver(account: Account) -> None:
    account.put(HOOK)
    account.meanwhile = {30: lambda: account.take(HOOK)}
    account.require_empty(TABLE)
    assert account.now >= 30 + SETTLE


def test_one_empty_count_is_enough_without_settling(account: Account) -> None:
    account.require_empty(TABLE, settle=0)
    assert account.now == 0
    account.put(HOOK)
    account.meanwhile = {30: lambda: account.take(HOOK)}
    account.require_empty(TABLE, settle=0)
    assert account.now == 30


def test_replaced_queue_counts_as_removed(account: Account) -> None:
    """As by sync_events, which makes other queues for the same target."""
    account.put(HOOK)
    other = {HOOK: [f"{url}.fifo" for url in account.queues[HOOK]], TABLE: account.queues[TABLE]}
    removal = Removal(account.sqs, SETTLE, SETTLE, lambda: account.now, account.sleep)
    with pytest.raises(BucketcastError, match=r"1 messages in Bucketcast-webhook-hook$"):
        removal.require_empty(account.queues, other, ())


def test_a_deleted_queue_counts_as_empty(account: Account) -> None:
    for url in account.queues[HOOK]:
        account.sqs.delete_queue(QueueUrl=url)
    account.require_empty(TABLE)


def clients(account: Account, status: str, more: Mapping[str, Any] | None = None) -> Any:
    class CloudFormation:
        def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's name
            assert StackName == "stack"
            return {"Stacks": [{"StackStatus": status}]}

    return {"sqs": account.sqs, "cloudformation": CloudFormation(), **(more or {})}.__getitem__


def request(answers: Any, kind: str, account: Account, **more: Any) -> dict[str, Any]:
    whole = {"Queues": account.queues, "Settle": "0", "Timeout": "0"}
    fewer = {"Queues": {TABLE: account.queues[TABLE]}, "Settle": "0", "Timeout": "0"}
    old = {"OldResourceProperties": whole} if kind == "Update" else {}
    properties = {"ResourceType": "Custom::Targets", "ResourceProperties": fewer, **old, **more}
    return event(answers, kind, **properties)


def test_deploy_is_refused_but_not_its_rollback(answers: Any, account: Account) -> None:
    account.put(HOOK)
    update = request(answers, "Update", account)
    with pytest.raises(BucketcastError, match="is to be removed, and there are"):
        keep(update, clients(account, "UPDATE_IN_PROGRESS"), account.sleep)
    keep(update, clients(account, "UPDATE_ROLLBACK_IN_PROGRESS"), account.sleep)
    for kind in ("Create", "Delete"):
        keep(request(answers, kind, account), clients(account, ""), account.sleep)


@pytest.fixture
def redeploy(answers: Any, account: Account, state_table: str, dynamodb: Any) -> Any:
    """Change the kinds of dynamic targets by a deploy in this state."""

    def redeploy(
        before: list[str], after: list[str], state: str = "UPDATE_IN_PROGRESS", **more: str
    ) -> None:
        update = request(answers, "Update", account)
        update["ResourceProperties"] |= {"Kinds": after, "StateTable": state_table, **more}
        update["OldResourceProperties"] |= {"Kinds": before}
        keep(update, clients(account, state, {"dynamodb": dynamodb}), account.sleep)

    return redeploy


@pytest.mark.parametrize("state", ["on", "off"])
def test_function_of_a_kind_with_targets_is_not_removed(
    redeploy: Any, state_table: str, dynamodb: Any, state: State
) -> None:
    put_dynamic_target(state_table, dynamodb, state)
    with pytest.raises(BucketcastError, match=r"leaves redis out.*sqs::audit:redis.*target rm"):
        redeploy(["redis", "webhook"], ["webhook"])
    redeploy(["redis", "webhook"], ["webhook"], "UPDATE_ROLLBACK_IN_PROGRESS")
    redeploy(["redis", "webhook"], ["webhook", "redis"])


def test_removed_targets_do_not_refuse_the_deploy(
    redeploy: Any, state_table: str, dynamodb: Any
) -> None:
    put_dynamic_target(state_table, dynamodb, "kept")
    redeploy(["redis"], [])
    put_dynamic_target(state_table, dynamodb, "on")
    redeploy([], [])


def test_visibility_is_raised_to_the_new_functions_timeout(
    redeploy: Any, account: Account, state_table: str, dynamodb: Any
) -> None:
    """Lambda refuses a longer timeout than the visibility of a queue that the function reads."""
    put_dynamic_target(state_table, dynamodb, "on")
    (target,) = Table(state_table, dynamodb).targets()
    put_dynamic_target(state_table, dynamodb, "on", "0gone")  # somebody deleted its queue
    url = account.sqs.create_queue(QueueName=target.queue)["QueueUrl"]
    base = url.rpartition("/")[0]
    for seconds in ("330", "90"):
        redeploy([], ["redis"], DynamicQueues=base, DynamicVisibility=seconds)
        attributes = account.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
        assert attributes["Attributes"]["VisibilityTimeout"] == "330", "never lowered"


@pytest.mark.parametrize("persistent", ["true", "false"])
def test_function_of_a_kind_with_topics_is_not_removed(
    redeploy: Any, state_table: str, dynamodb: Any, persistent: str
) -> None:
    """Those of one attempt have no target: ingest would write to a queue that is gone."""
    items = TopicTable(state_table, dynamodb)
    work = TopicWork(id="1", tenant="acme", name="photos", holder="me", due=0)
    assert items.works.take(work, 0)
    attributes = {"push-endpoint": "kafka://broker:9092", "persistent": persistent}
    topic = Topic(
        tenant="acme", owner="ann", name="photos", region="eu-west-1", attributes=attributes
    )
    assert items.commit(work, None, topic)
    with pytest.raises(
        BucketcastError, match=r"leaves kafka out.*:acme:photos \(`bucketcast topic"
    ):
        redeploy(["kafka", "webhook"], ["webhook"])
    redeploy(["kafka", "webhook"], ["webhook", "kafka"])


def put_dynamic_target(table: str, dynamodb: Any, state: State, name: str = "audit") -> None:
    arn, queue = f"arn:minio:sqs::{name}:redis", f"q-{name}"
    target = DynamicTarget(
        arn=arn, kind="redis", id=name, queue=queue, settings={}, number=1, state=state
    )
    task = Task(arn=arn, holder=state, due=0)
    stored = Table(table, dynamodb)
    assert stored.tasks.take(task, 0)
    stored.commit(task, target, None)


def test_a_refusal_is_reported_to_cloudformation(
    function: Any, answers: Any, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.put(HOOK)
    clients_of = clients(account, "UPDATE_IN_PROGRESS")
    monkeypatch.setattr(function_clients, "client", lambda name, _: clients_of(name))
    context = lambda_context()
    function.handler(request(answers, "Update", account, PhysicalResourceId="targets"), context)
    function.handler(request(answers, "Create", account), context)
    refused, accepted = answers.taken
    assert refused["Status"] == "FAILED"
    assert f"{HOOK} is to be removed" in refused["Reason"]
    assert (accepted["Status"], accepted["PhysicalResourceId"]) == ("SUCCESS", "targets")
