"""From batches to the targets' queues: all that was matched, or the messages to read again."""

import subprocess
import sys
from collections.abc import Sequence
from threading import Barrier
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY, Mock

import msgspec
import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast import targets
from bucketcast.delivery import tracing
from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.messages import Item, Message
from bucketcast.delivery.queue import GROUP
from bucketcast.delivery.queue_names import kind_of
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.errors import GivenUp, OutOfTime
from bucketcast.ingest.fanout import Fanout
from tests.unit.delivery.test_envelope import noise
from tests.unit.moto_aws import refusal
from tests.unit.samples import event, received

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HOOK = "arn:minio:sqs::primary:webhook"
FIFO = {"FifoQueue": "true"}


def made_queue(
    sqs: "SQSClient", name: str = "Bucketcast-webhook-primary", **attributes: str
) -> str:
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]


OPTIONS: dict[str, Any] = {"deployed": {HOOK}.__contains__}


def fanout(sqs: "SQSClient", end: str = "", **options: Any) -> Fanout:
    """Make one whose targets' queues are beside the ingress queue."""
    url = sqs.create_queue(QueueName="Bucketcast-ingress")["QueueUrl"]
    return Fanout(f"{url.removesuffix('ingress')}*{end}", sqs, **OPTIONS | options)


def fanout_by(client: Any, **options: Any) -> Fanout:
    """Make one whose calls go to this client."""
    return Fanout("https://sqs/123/Bucketcast-*", client, **OPTIONS | options)


def batch(*keys: str, record: bytes = b"{}") -> list[Item]:
    nowhere: Any = None
    made = (Delivery("rule", event(key, stored=msgspec.Raw(record))) for key in keys)
    return [Item(nowhere, each) for each in made]


def of(delivery: Delivery) -> Item:
    nowhere: Any = None
    return Item(nowhere, delivery)


def send(sender: Fanout, arn: str, routed: Sequence[Item]) -> list[tuple[str, str]]:
    """Send a batch; return the key of what is left of it, and why."""
    left = sender.send({Destination.of(arn): routed}, lambda: 60.0)
    return [(one.delivery.event.key, str(one.error)) for one in left]


def keys(messages: list[dict[str, Any]]) -> list[list[str]]:
    return [[each.event.key for each in unpack(found["Body"])] for found in messages]


def test_two_named_rules_of_one_target_are_two_copies_in_an_ordered_queue(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "Bucketcast-webhook-primary.fifo", **FIFO)
    made = [Delivery(rule, event("a"), named=rule != "id") for rule in ("one", "two", "id", "one")]
    assert send(fanout(sqs, ".fifo"), HOOK, [*map(of, made)]) == []
    found = received(sqs, url)
    assert [unpack(each["Body"])[0].rule for each in found] == ["one", "two", "id"]


def test_events_of_a_topic_with_the_longest_name_are_in_one_group(sqs: "SQSClient") -> None:
    """SQS refused all of them: their group was the topic's ARN, and longer than groups may be."""
    url = made_queue(sqs, "topic.fifo", **FIFO)
    sender = fanout(sqs, dynamic_queue=lambda _: "topic.fifo")
    came: Any = SimpleNamespace(message=Message("m", "r", "", 0, 1))
    routed = [Item(came, one.delivery) for one in batch("a", "b")]
    assert send(sender, TopicArn("eu-west-1", "tenant", "n" * 256).arn, routed) == []
    groups = {each["Attributes"]["MessageGroupId"] for each in received(sqs, url)}
    assert groups == {GROUP}


@pytest.mark.parametrize(
    "arn", ["arn:minio:sqs::gone:webhook", "arn:minio:sqs::x:hologram", "no arn", ""]
)
def test_events_of_a_target_that_is_not_there_go_nowhere(sqs: "SQSClient", arn: str) -> None:
    assert send(fanout(sqs), arn, batch("a")) == []


def test_events_for_the_shared_queue_of_a_removed_kind_go_nowhere(sqs: "SQSClient") -> None:
    """Left in the ingress queue they would be tried for days: no deploy brings that queue back."""
    shared = "Bucketcast-dynamic-kafka-once"
    sender = fanout(sqs, deployed=set().__contains__, dynamic_queue=lambda _: shared)
    assert send(sender, HOOK, batch("a")) == []
    assert sender.take_skipped() == {HOOK: 1}


def test_event_that_fits_nowhere_is_given_up_and_its_neighbours_go(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    box = batch("a", "large", "b")
    box[1] = of(Delivery("rule", event("large", stored=msgspec.Raw(noise(1_300_000)))))
    (left,) = fanout(sqs).send({Destination.of(HOOK): box}, lambda: 60.0)
    assert sorted(key for each in keys(received(sqs, url)) for key in each) == ["a", "b"]
    assert left.delivery.event.key == "large"
    assert isinstance(left.error, GivenUp)
    assert left.error.error == "TooLarge"
    assert "a message holds" in str(left.error)


class Broken:
    """An SQS that refuses some of the messages, or does not answer."""

    def __init__(self, sqs: "SQSClient", *, refuse: int | None) -> None:
        self.exceptions = sqs.exceptions
        self.refuse = refuse

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        if self.refuse is None:
            raise EndpointConnectionError(endpoint_url=QueueUrl)
        failed = {"Id": str(self.refuse), "Code": "InternalError", "SenderFault": True}
        return {"Failed": [failed] if failed["Id"] in {each["Id"] for each in Entries} else []}


def test_only_the_events_of_a_refused_message_are_left(sqs: "SQSClient") -> None:
    left = send(fanout_by(Broken(sqs, refuse=1)), HOOK, batch(*(f"k{n}" for n in range(2_100))))
    assert left == [(f"k{n}", "InternalError: ") for n in range(1_000, 2_000)]


def test_queue_that_refused_everything_is_called_after_its_pause(
    sqs: "SQSClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_800_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    client = Broken(sqs, refuse=None)
    sender = fanout_by(client)
    ((key, why),) = send(sender, HOOK, batch("a"))
    assert (key, "Could not connect" in why) == ("a", True)
    client.refuse = 99
    assert [key for key, _ in send(sender, HOOK, batch("b"))] == ["b"], "it would take it"
    now[0] += 1
    assert send(sender, HOOK, batch("b")) == []
    assert send(sender, HOOK, batch("c")) == []


def test_events_out_of_time_are_unsent(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    (left,) = fanout(sqs).send({Destination.of(HOOK): batch("a")}, lambda: 1.0)
    assert isinstance(left.error, OutOfTime)
    assert received(sqs, url) == []


def test_queues_of_a_batch_are_sent_to_at_the_same_time() -> None:
    """A target whose queue answers late delays no other, and ten cost no ten times as long."""
    three = Barrier(3, timeout=5.0)
    client = SimpleNamespace(send_message_batch=lambda **_: {"at": three.wait()})
    to = {Destination.of(f"arn:minio:sqs::t{each}:webhook"): batch("a") for each in range(3)}
    assert list(fanout_by(client, deployed=lambda _: True).send(to, lambda: 60.0)) == []


GONE = [
    "AccessDenied",
    "AccessDeniedException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
]


@pytest.mark.parametrize("code", GONE)
def test_target_that_is_not_deployed_has_no_queue_however_sqs_says_so(code: str) -> None:
    """Ingest has no right to a queue that is not one of its own deployment."""
    client = Mock(send_message_batch=Mock(side_effect=refusal(code)))
    assert send(fanout_by(client, deployed=set().__contains__), HOOK, batch("a")) == []
    ((key, why),) = send(fanout_by(client), HOOK, batch("a"))
    assert (key, code in why) == ("a", True)


def test_event_that_cannot_be_packed_is_left_alone(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    box = batch("a", "b", "c", "d", "e")
    box[2] = of(Delivery("rule", event("\ud800")))
    ((key, why),) = send(fanout(sqs), HOOK, box)
    assert sorted(key for each in keys(received(sqs, url)) for key in each) == ["a", "b", "d", "e"]
    assert (key, why.partition(":")[0]) == ("\ud800", "unexpected UnicodeEncodeError")


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_kind_is_found_by_its_type(kind: str) -> None:
    assert kind_of(TargetArn("x", targets.load(kind).arn_type)) == kind


@pytest.mark.parametrize("name", ["postgres", "base", "nothing"])
def test_the_name_of_a_kind_is_no_type_where_minio_spells_it_differently(name: str) -> None:
    with pytest.raises(ValueError, match=f"no kind of target has the type '{name}'"):
        kind_of(TargetArn("x", name))


def test_no_target_is_imported_to_find_a_queue() -> None:
    """Ingest pays for what it imports with the first event of each cold start."""
    code = """
import sys
from bucketcast.destination import TargetArn
from bucketcast.ingest import fanout
fanout.queue_url("https://sqs/1/B-*", TargetArn("x", "postgresql"))
print(*sorted(name for name in sys.modules if name.startswith("bucketcast.targets.")))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert answer.stdout == "\n"


@pytest.mark.parametrize(
    ("end", "attributes", "arrived"),
    [("", {}, [["a", "b"]]), (".fifo", FIFO, [["a"], ["b"]])],
    ids=["as the others", "ordered where the others are not"],
)
def test_a_target_made_at_run_time_has_a_queue_of_another_name(
    sqs: "SQSClient", end: str, attributes: dict[str, str], arrived: list[list[str]]
) -> None:
    name = f"Bucketcast-dynamic-webhook-primary-0a1b2c{end}"
    url = made_queue(sqs, name, **attributes)
    publisher = fanout(
        sqs, deployed=set().__contains__, dynamic_queue={Destination.of(HOOK): name}.get
    )
    assert send(publisher, HOOK, batch("a", "b")) == []
    assert keys(received(sqs, url)) == arrived


def test_a_queue_that_is_not_there_yet_is_waited_for(sqs: "SQSClient") -> None:
    """SQS may take a second to know a queue that was made; the next read of the table shows it."""
    made = {Destination.of(HOOK): "Bucketcast-dynamic-webhook-primary-0a1b2c"}
    publisher = fanout(sqs, deployed=set().__contains__, dynamic_queue=made.get)
    assert [key for key, _ in send(publisher, HOOK, batch("a"))] == ["a"]


def test_while_run_time_targets_cannot_be_read_their_events_are_left(sqs: "SQSClient") -> None:
    def refuse(_: Destination) -> str:
        raise EndpointConnectionError(endpoint_url="https://dynamodb")

    publisher = fanout(sqs, deployed=set().__contains__, dynamic_queue=refuse)
    assert send(publisher, HOOK, batch("a")) == [("a", "its queue is not known now")]


def test_events_of_a_deployed_target_stay_where_its_kind_is_not_known(
    sqs: "SQSClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process whose files were being removed under it once dropped the events of ten targets."""
    monkeypatch.setattr(targets, "kinds", lambda: ("redis",))
    sender = fanout(sqs)
    assert send(sender, HOOK, batch("a")) == [("a", "its queue is not known now")]
    assert sender.take_skipped() == {}


def test_without_any_kind_the_package_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    targets.kinds.cache_clear()
    try:
        with monkeypatch.context() as during:
            during.setattr(targets, "__path__", [])
            with pytest.raises(ImportError, match="the package is incomplete"):
                targets.kinds()
        assert "webhook" in targets.kinds(), "what was not found is not kept"
    finally:
        targets.kinds.cache_clear()


def test_deployed_target_wins_over_a_dynamic_one_of_its_name(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    made = Mock(return_value="Bucketcast-dynamic-webhook-primary-0a1b2c")
    assert send(fanout(sqs, dynamic_queue=made), HOOK, batch("a")) == []
    assert keys(received(sqs, url)) == [["a"]]
    made.assert_not_called()


def test_events_that_go_nowhere_are_counted_and_traced(
    sqs: "SQSClient", capsys: pytest.CaptureFixture[str]
) -> None:
    publisher = fanout(sqs)
    gone = "arn:minio:sqs::gone:webhook"
    assert send(publisher, gone, batch("a", "b")) == []
    assert publisher.take_skipped() == {gone: 2}
    lines = list(filter(None, map(tracing.read, capsys.readouterr().out.splitlines())))
    ids = " ".join(
        tracing.trace_id(each.event) for each in (one.delivery for one in batch("a", "b"))
    )
    assert lines == [tracing.Dropped(ANY, gone, ids)]
    assert publisher.take_skipped() == {}
