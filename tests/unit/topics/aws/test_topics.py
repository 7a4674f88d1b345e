"""Topics: made, changed and deleted by calls that may be killed at any step."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from bucketcast.destination import TopicArn
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.aws.topics import LEASE_SECONDS, DesiredTopic, Topics
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic
from tests.unit.dynamic_targets.account import DYNAMIC, Account, Killed

T1 = TopicArn("eu-central-1", "acme", "t1")
LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true"}


def items(account: Account) -> TopicTable:
    return TopicTable(account.table._name, account.dynamodb)


def put(account: Account, given: Mapping[str, str], arn: TopicArn = T1, owner: str = "a") -> Topic:
    return account.topics().put(arn, lambda *_: DesiredTopic(owner, parse_attributes(given)))


def test_name_too_long_for_dynamodb_is_no_topic() -> None:
    """DynamoDB refuses a key of more than 1,024 bytes."""
    nobody: Any = None
    assert TopicTable("table", nobody).topic(TopicArn("", "acme", "x" * 1_020)) is None


def delete(account: Account) -> bool:
    return account.topics().delete(T1, lambda _: None)


def clean_up(account: Account) -> None:
    """What later calls do."""
    for _ in range(2):
        account.now += LEASE_SECONDS + 1
        account.topics().sweep()
        account.targets().sweep()


def assert_empty(account: Account) -> None:
    assert items(account).topic(T1) is None
    assert list(items(account).works.all()) == []
    assert account.queues() == set()
    assert account.mapped() == set()
    assert account.secret_texts() == {}
    assert account.table.targets() == []
    assert list(account.table.tasks.all()) == []


def it_is_whole(account: Account) -> Topic:
    """The topic has what it names, and nothing else is there."""
    topic = items(account).topic(T1)
    assert topic is not None
    assert list(items(account).works.all()) == []
    assert list(account.table.tasks.all()) == []
    targets = {target.arn: target for target in account.table.targets()}
    assert set(targets) == ({topic.target_arn} if topic.target_arn else set())
    queues = {name for target in targets.values() for name in (target.queue, target.dead)}
    assert account.queues() == queues
    assert account.mapped() == {target.queue for target in targets.values()}
    secrets = {topic.secret, *(target.secret for target in targets.values())} - {""}
    assert set(account.secret_texts()) == secrets
    return topic


def test_login_is_only_in_secrets_manager(account: Account) -> None:
    made = put(account, LOGIN)
    rows = account.dynamodb.scan(TableName=account.table._name)["Items"]
    assert "hunter2" not in str(rows)
    assert "hunter2" not in repr(made)
    assert account.secret_texts()[made.secret] == {"push-endpoint": LOGIN["push-endpoint"]}
    assert made.references == {"push-endpoint": f"secret:{made.secret}#push-endpoint"}
    assert made.secret.startswith(f"{DYNAMIC.secrets}webhook-")


def test_a_topic_accepts_every_change_and_keeps_its_queue(account: Account) -> None:
    put(account, LOGIN)
    queues = account.queues()
    for given in (
        {**LOGIN, "OpaqueData": "x"},
        {**LOGIN, "push-endpoint": "http://h/y"},
        {**LOGIN, "push-endpoint": "https://u:new@h/y"},
    ):
        put(account, given)
        assert account.queues() == queues
        it_is_whole(account)
    put(account, {"push-endpoint": "http://h/y"})
    it_is_whole(account)
    assert account.queues() == set()


def test_a_change_raises_the_number_that_ingest_reads(account: Account) -> None:
    before = account.table.version()
    put(account, {})
    between = account.table.version()
    assert before < between
    delete(account)
    assert between < account.table.version()


def test_deleting_removes_everything_and_twice_is_no_error(account: Account) -> None:
    put(account, LOGIN)
    (target,) = account.table.targets()
    account.fill(target.queue)
    assert delete(account)
    assert_empty(account)
    assert not delete(account)


def test_change_of_kind_keeps_waiting_events_until_deletion(
    account: Account,
) -> None:
    put(account, LOGIN)
    (before,) = account.table.targets()
    account.fill(before.queue)
    # moto's table has functions of three kinds only.
    deployed = {**DYNAMIC.functions, "amqp": DYNAMIC.functions["redis"]}
    setup = replace(DYNAMIC, functions=deployed)
    both = account.topics(setup)
    given = {"push-endpoint": "amqp://r", "amqp-exchange": "ex", "persistent": "true"}
    both.put(T1, lambda *_: DesiredTopic("a", parse_attributes(given)))
    states = {entry.kind: entry.state for entry in account.table.targets()}
    assert states == {"webhook": "kept", "amqp": "on"}
    assert both.delete(T1, lambda _: None)
    assert_empty(account)


def test_change_applies_to_a_topic_created_again_meanwhile(
    account: Account,
) -> None:
    put(account, {"OpaqueData": "old"}, owner="old")
    calls = []

    def later(existing: Topic | None, _: Mapping[str, str]) -> DesiredTopic:
        calls.append(existing)
        if len(calls) == 1:
            delete(account)
            account.now += 1
            put(account, {}, owner="new")
        assert existing is not None
        return DesiredTopic(
            existing.owner, parse_attributes({**existing.attributes, "max_retries": "1"})
        )

    made = account.topics().put(T1, later)
    assert (made.owner, made.attributes) == ("new", {"max_retries": "1"})


def test_forbidden_change_changes_nothing(account: Account) -> None:
    put(account, LOGIN)

    def no(*_: Any) -> DesiredTopic:
        raise TopicError("AuthorizationError", "no")

    before = it_is_whole(account)
    with pytest.raises(TopicError):
        account.topics().put(T1, no)
    with pytest.raises(TopicError):
        account.topics().delete(T1, no)  # type: ignore[arg-type]  # it only raises
    assert it_is_whole(account) == before


def test_kind_without_a_function_is_refused(account: Account) -> None:
    given = {"push-endpoint": "amqp://r", "amqp-exchange": "ex"}
    with pytest.raises(TopicError, match="no function for dynamic targets of kind amqp"):
        put(account, given)
    assert_empty(account)


def test_two_simultaneous_calls_both_succeed(account: Account) -> None:
    calls = []

    def later(existing: Topic | None, _: Mapping[str, str]) -> DesiredTopic:
        calls.append(existing)
        if len(calls) == 1:
            put(account, {**LOGIN, "OpaqueData": "first"}, owner="b")
        stored = existing.attributes if existing else {}
        return DesiredTopic(
            "a", parse_attributes({**LOGIN, "OpaqueData": stored.get("OpaqueData", "") + "+"})
        )

    made = account.topics().put(T1, later)
    assert made.opaque_data == "first+"
    assert it_is_whole(account) == made
    assert [entry and entry.owner for entry in calls] == [None, "b"]


@pytest.mark.parametrize("step", range(19))
def test_killed_call_leaves_the_old_or_the_new_topic(account: Account, step: int) -> None:
    before = put(account, {"OpaqueData": "before"})
    with pytest.raises(Killed), account.killed(step):
        put(account, LOGIN)
    clean_up(account)
    stored = it_is_whole(account)
    assert stored.number in (before.number, before.number + 1)


@pytest.mark.parametrize("step", range(25))
def test_killed_deletion_is_finished_or_undone(account: Account, step: int) -> None:
    put(account, LOGIN)
    with pytest.raises(Killed), account.killed(step):
        delete(account)
    clean_up(account)
    if items(account).topic(T1) is None:
        assert_empty(account)
    else:
        it_is_whole(account)


def test_topics_are_listed_in_pages_and_by_tenant(account: Account) -> None:
    for tenant, count in (("", 3), ("acme", 5), ("acme2", 1)):
        for number in range(count):
            put(account, {}, TopicArn("r", tenant, f"t{number}"), owner=f"u{number % 2}")
    listed, after = items(account).page("acme", 2)
    assert [entry.name for entry in listed] == ["t0", "t1"]
    listed, after = items(account).page("acme", 2, after)
    assert [entry.name for entry in listed] == ["t2", "t3"]
    listed, after = items(account).page("acme", 2, after)
    assert ([entry.name for entry in listed], after) == (["t4"], "")
    everyone, after = items(account).page(None, 9)
    assert len(everyone) == 9
    assert after == ""
    mine, after = items(account).page(None, 9, keep=lambda topic: topic.owner == "u1")
    assert {entry.arn for entry in mine} == {
        "arn:aws:sns:r::t1",
        "arn:aws:sns:r:acme:t1",
        "arn:aws:sns:r:acme:t3",
    }


@pytest.mark.parametrize(("persistent", "others"), [("false", 60), ("true", 10)])
def test_put_costs_the_same_with_many_topics(
    account: Account, persistent: str, others: int
) -> None:
    """By calls and by what they return: it is not the number of topics that makes it slower."""

    def cost(name: str) -> list[tuple[str, int]]:
        answers: list[tuple[str, int]] = []

        def answered(model: Any, parsed: Any, **_: Any) -> None:
            answers.append((model.name, len(parsed.get("Items", ()))))

        events = [client.meta.events for client in (account.dynamodb, account.sqs)]
        for entry in events:
            entry.register("after-call", answered)
        put(account, {"persistent": persistent, "push-endpoint": "http://h/x"}, topic(name))
        for entry in events:
            entry.unregister("after-call", answered)
        return answers

    def topic(name: str) -> TopicArn:
        return TopicArn("eu-central-1", "acme", name)

    first = cost("first")
    for number in range(others):
        put(
            account,
            {"persistent": persistent, "push-endpoint": "http://h/x"},
            topic(f"one-{number:04}"),
        )
    assert first
    assert cost("last") == first


def test_what_cannot_be_settled_stops_no_other_call(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed call of one tenant, whose topic nobody may make any more."""

    def refuse(*_: Any) -> bool:
        raise TopicError("InvalidArgument", "push-endpoint: private addresses are not allowed")

    with monkeypatch.context() as killed:
        killed.setattr(TopicTable, "commit", lambda *_: 1 / 0)
        killed.setattr(Topics, "_settle", lambda *_, **__: None)
        with pytest.raises(ZeroDivisionError):
            put(account, {}, T1)
    account.now += LEASE_SECONDS + 1
    monkeypatch.setattr(Topics, "_take_over", refuse)
    other = TopicArn("us-east-1", "other", "t")
    assert put(account, {}, other).tenant == "other"
