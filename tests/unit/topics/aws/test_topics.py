"""Topics: what they have beyond other dynamic targets."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from msgspec.structs import replace

from bucketcast.destination import TopicArn
from bucketcast.dynamic_targets.aws.tasks import LEASE_SECONDS
from bucketcast.errors import BucketcastError
from bucketcast.state.items import Topic
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.topics import DesiredTopic, page
from bucketcast.topics.endpoint import kind_of
from bucketcast.topics.errors import TopicError
from tests.unit.dynamic_targets.account import Account, Killed
from tests.unit.moto_aws import DYNAMIC

T1 = TopicArn("eu-central-1", "acme", "t1")
LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true"}
ONCE = {**LOGIN, "persistent": "false"}
AMQP = {"push-endpoint": "amqp://r", "amqp-exchange": "ex", "persistent": "true"}


def put(account: Account, given: Mapping[str, str], arn: TopicArn = T1, owner: str = "a") -> Topic:
    setup = replace(DYNAMIC, functions={**DYNAMIC.functions, "amqp": f"{DYNAMIC.prefix}amqp"})
    return account.topics(setup).put(arn, lambda *_: DesiredTopic(owner, parse_attributes(given)))


def clean_up(account: Account) -> None:
    """What later calls do."""
    for _ in range(2):
        account.now += LEASE_SECONDS + 1
        account.targets().sweep()


def it_is_whole(account: Account) -> Topic:
    """The topic has what it names, and nothing else is there."""
    topic = account.table.topic(T1)
    assert topic is not None
    assert account.table.tasks() == []
    assert account.table.targets() == ([replace(topic, attributes={})] if topic.queue else [])
    assert account.queues() == ({topic.queue, topic.dead} if topic.queue else set())
    function = f"{DYNAMIC.prefix}{topic.kind}"
    assert account.mappings() == ([(topic.queue, function)] if topic.queue else [])
    assert set(account.secret_texts()) == {topic.secret} - {""}
    return topic


@pytest.mark.parametrize("cut", [Account.killed, Account.unanswered])
@pytest.mark.parametrize(("before", "after"), [(LOGIN, AMQP), (LOGIN, ONCE), (ONCE, LOGIN)])
@pytest.mark.parametrize("step", range(17))
def test_a_change_leaves_a_whole_topic_and_keeps_the_queue_and_what_waits_in_it(
    account: Account, step: int, before: Mapping[str, str], after: Mapping[str, str], cut: Any
) -> None:
    """Ingest may have sent to it, and only one function may be called for it in the end."""
    queue = put(account, before).queue
    if queue:
        account.fill(queue)
    with suppress(Killed, ReadTimeoutError), cut(account, step):
        put(account, after)
    clean_up(account)
    it_is_whole(account)
    assert put(account, after).kind == kind_of(after)
    it_is_whole(account)
    if after is AMQP:
        assert account.targets()._resources.waiting(queue) == 1


def test_topics_without_a_queue_are_not_read_among_targets(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be many, with 200 KB each, and every command reads the targets."""
    put(account, ONCE)
    monkeypatch.setattr("bucketcast.state.dynamic_targets._decode", pytest.fail)
    assert account.table.targets() == []


def test_calls_on_one_topic_plan_one_after_the_other(account: Account) -> None:
    """Two had read the same topic, and the later one took back what the other had changed."""

    def later(*_: Any) -> DesiredTopic:
        with pytest.raises(BucketcastError, match=f"at work on {T1}"):
            put(account, LOGIN)
        put(account, {}, TopicArn("", "acme", "other"))
        return DesiredTopic("a", parse_attributes({}))

    account.topics().put(T1, later)


def test_forbidden_deletion_changes_nothing(account: Account) -> None:
    put(account, LOGIN)

    def no(_: Topic) -> None:
        raise TopicError("AuthorizationError", "no")

    before = it_is_whole(account)
    with pytest.raises(TopicError):
        account.topics().delete(T1, no)
    assert it_is_whole(account) == before


def test_topics_are_listed_by_tenant(account: Account) -> None:
    for tenant in ("", "acme", "acme2"):
        put(account, {}, TopicArn("r", tenant, "t1"))
    listed, _ = page(account.table, "acme", 9)
    assert [topic.arn for topic in listed] == ["arn:aws:sns:r:acme:t1"]
    assert len(page(account.table, None, 9)[0]) == 3


def test_a_page_has_fewer_topics_with_long_attributes(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.topics.aws.topics.MOST_PAGE_CHARACTERS", 5)
    for name in "ab":
        put(account, {"OpaqueData": "xxx"}, TopicArn("r", "acme", name))
    (first,), after = page(account.table, "acme", 9)
    (second,), end = page(account.table, "acme", 9, after)
    assert ({first.name, second.name}, end) == ({"a", "b"}, "")


def test_topics_with_a_queue_have_a_limit(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.dynamic_targets.aws.targets.MOST_QUEUED_TOPICS", 1)
    put(account, LOGIN)
    put(account, LOGIN)
    with pytest.raises(BucketcastError, match="there are 1 persistent topics; allowed are 1"):
        put(account, LOGIN, TopicArn("r", "acme", "t2"))
