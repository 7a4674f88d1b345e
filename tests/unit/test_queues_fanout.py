"""From outboxes to the targets' queues: all that was matched, or the messages to read again."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.envelope import Delivery, unpack
from bucketcast.ingest import Outbox
from bucketcast.queues import Queue
from bucketcast.queues.address import kind_of
from bucketcast.queues.fanout import Fanout
from tests.unit.made import event, received
from tests.unit.test_envelope import noise

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HOOK = "arn:minio:sqs::primary:webhook"
FIFO = {"FifoQueue": "true"}


def made_queue(
    sqs: "SQSClient", name: str = "Bucketcast-webhook-primary", **attributes: str
) -> str:
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]


def fanout(sqs: "SQSClient", *, fifo: bool = False) -> Fanout:
    url = sqs.create_queue(QueueName="Bucketcast-ingress")["QueueUrl"]
    return Fanout(
        url.removesuffix("ingress"), sqs, dead(sqs), fifo=fifo, deployed={HOOK}.__contains__
    )


def dead(sqs: "SQSClient") -> Queue:
    return Queue(sqs.create_queue(QueueName="Bucketcast-ingress-dead")["QueueUrl"], sqs)


def outbox(*keys: str, record: bytes = b"{}") -> Outbox:
    made = [Delivery("rule", event(key, record=msgspec.Raw(record))) for key in keys]
    return Outbox(made, [f"message of {key}" for key in keys])


def keys(messages: list[dict[str, Any]]) -> list[list[str]]:
    return [[each.event.key for each in unpack(found["Body"])[1]] for found in messages]


def test_events_of_a_batch_go_in_one_message(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    assert fanout(sqs).send(HOOK, outbox("a", "b", "c")) == []
    assert keys(received(sqs, url)) == [["a", "b", "c"]]


def test_ordered_queue_gets_a_message_an_event_in_one_group(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "Bucketcast-webhook-primary.fifo", **FIFO)
    assert fanout(sqs, fifo=True).send(HOOK, outbox("a", "b", "a")) == []
    found = received(sqs, url)
    assert keys(found) == [["a"], ["b"]], "the repeated event is recognised by SQS"
    assert {each["Attributes"]["MessageGroupId"] for each in found} == {HOOK}
    assert found[0]["Attributes"]["MessageDeduplicationId"] == event("a").id


def test_two_named_rules_of_one_target_are_two_copies_in_an_ordered_queue(
    sqs: "SQSClient",
) -> None:
    url = made_queue(sqs, "Bucketcast-webhook-primary.fifo", **FIFO)
    made = [Delivery(rule, event("a"), named=rule != "id") for rule in ("one", "two", "id", "one")]
    assert fanout(sqs, fifo=True).send(HOOK, Outbox(made, ["message"] * 4)) == []
    found = received(sqs, url)
    assert [unpack(each["Body"])[1][0].rule for each in found] == ["one", "two", "id"]


@pytest.mark.parametrize(
    "arn", ["arn:minio:sqs::gone:webhook", "arn:minio:sqs::x:hologram", "no arn", ""]
)
def test_events_of_a_target_that_is_not_there_go_nowhere(sqs: "SQSClient", arn: str) -> None:
    assert fanout(sqs).send(arn, outbox("a")) == []


def test_name_of_a_stack_may_hold_hyphens(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "My-own-stack-postgres-_")
    ingress = sqs.create_queue(QueueName="My-own-stack-ingress")["QueueUrl"]
    sender = Fanout(
        ingress.removesuffix("ingress"), sqs, dead(sqs), fifo=False, deployed={HOOK}.__contains__
    )
    assert sender.send("arn:minio:sqs::_:postgresql", outbox("a")) == []
    assert keys(received(sqs, url)) == [["a"]]


def test_event_that_fits_nowhere_is_buried_and_its_neighbours_go(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    box = outbox("a", "large", "b")
    large = Delivery("rule", event("large", record=msgspec.Raw(noise(1_300_000))))
    box.deliveries[1] = large
    assert fanout(sqs).send(HOOK, box) == []
    assert keys(received(sqs, url)) == [["a", "b"]]
    (grave,) = received(sqs, dead(sqs).url)
    assert grave["MessageAttributes"]["target"]["StringValue"] == HOOK
    assert "a message holds" in grave["MessageAttributes"]["reason"]["StringValue"]


def test_record_that_sqs_refuses_as_it_is_can_be_buried() -> None:
    """SNS hands such characters over as escapes, and the record inside has them as they are."""
    client: Any = Noted()
    sender = Fanout(
        "https://sqs/123/Bucketcast-",
        client,
        Queue("dead", client),
        fifo=False,
        deployed={HOOK}.__contains__,
    )
    record = b'{"a":"\xef\xbf\xbe","x":' + noise(1_300_000) + b"}"
    assert sender.send(HOOK, outbox("large", record=record)) == []
    (grave,) = client.sent
    assert "\ufffe" not in grave["MessageBody"]


class Noted:
    """SQS that takes all it is sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803, ARG002
        self.sent += Entries
        return {}


def test_event_that_fits_nowhere_and_cannot_be_buried_stays(sqs: "SQSClient") -> None:
    box = outbox("large")
    box.deliveries[0] = Delivery("rule", event("large", record=msgspec.Raw(noise(1_300_000))))
    client: Any = Broken(sqs, refuse=None)
    sender = Fanout(
        "https://sqs/123/Bucketcast-",
        client,
        Queue("dead", client),
        fifo=False,
        deployed={HOOK}.__contains__,
    )
    (left,) = sender.send(HOOK, box)
    assert (left.body, left.origins) == ("", {"message of large"})


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


def test_where_sqs_does_not_answer_all_is_left(sqs: "SQSClient") -> None:
    client: Any = Broken(sqs, refuse=None)
    sender = Fanout(
        "https://sqs/123/Bucketcast-", client, dead(sqs), fifo=False, deployed={HOOK}.__contains__
    )
    (left,) = sender.send(HOOK, outbox("a", "b"))
    assert left.origins == {"message of a", "message of b"}
    assert [each.event.key for each in unpack(left.body)[1]] == ["a", "b"]
    assert "Could not connect" in left.reason


def test_only_a_refused_message_is_left(sqs: "SQSClient") -> None:
    client: Any = Broken(sqs, refuse=1)
    sender = Fanout(
        "https://sqs/123/Bucketcast-", client, dead(sqs), fifo=False, deployed={HOOK}.__contains__
    )
    box = outbox(*(f"k{n}" for n in range(2_100)))
    (left,) = sender.send(HOOK, box)
    assert left.origins == {f"message of k{n}" for n in range(1_000, 2_000)}
    assert unpack(left.body)[1][0].event.key == "k1000"
    assert left.reason == "InternalError: "


class Refusing:
    """An SQS that refuses a queue."""

    def __init__(self, code: str) -> None:
        self.code = code

    def send_message_batch(self, **_: object) -> Any:
        raise ClientError({"Error": {"Code": self.code, "Message": "it said"}}, "SendMessageBatch")


GONE = [
    "AccessDenied",
    "AccessDeniedException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
]


@pytest.mark.parametrize("code", GONE)
def test_target_that_is_not_deployed_has_no_queue_however_sqs_says_so(code: str) -> None:
    """Ingest has no right to a queue that is not one of its own deployment."""
    client: Any = Refusing(code)
    sender = Fanout("https://sqs/123/B-", client, Queue("dead", client), fifo=False, deployed=bool)
    other = Fanout(
        "https://sqs/123/B-", client, Queue("dead", client), fifo=False, deployed=lambda _: False
    )
    assert other.send(HOOK, outbox("a")) == []
    (left,) = sender.send(HOOK, outbox("a"))
    assert (left.origins, code in left.reason) == ({"message of a"}, True)


def test_what_was_left_is_sent_as_it_is(sqs: "SQSClient") -> None:
    client: Any = Broken(sqs, refuse=None)
    url = made_queue(sqs)
    (left,) = Fanout("https://sqs/123/B-", client, dead(sqs), fifo=False, deployed=bool).send(
        HOOK, outbox("a", "b")
    )
    assert fanout(sqs).forward(HOOK, left.body) is None
    assert keys(received(sqs, url)) == [["a", "b"]]


def test_what_was_left_for_an_ordered_queue_keeps_its_token(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "Bucketcast-webhook-primary.fifo", **FIFO)
    assert fanout(sqs, fifo=True).send(HOOK, outbox("a")) == []
    (found,) = received(sqs, url)
    assert fanout(sqs, fifo=True).forward(HOOK, found["Body"]) is None
    assert received(sqs, url) == []


def test_event_that_cannot_be_packed_is_buried_alone(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    box = outbox("a", "b", "c", "d", "e")
    box.deliveries[2] = Delivery("rule", event("\ud800"))
    assert fanout(sqs).send(HOOK, box) == []
    assert sorted(key for each in keys(received(sqs, url)) for key in each) == ["a", "b", "d", "e"]
    (grave,) = received(sqs, dead(sqs).url)
    assert grave["texts"]["error"] == "UnicodeEncodeError"


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_kind_is_found_by_its_type(kind: str) -> None:
    assert kind_of(Arn("x", targets.load(kind).arn_type)) == kind


def test_a_target_made_at_run_time_has_a_queue_of_another_name(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "Bucketcast-runtime-webhook-primary-0a1b2c")
    made = {HOOK: "Bucketcast-runtime-webhook-primary-0a1b2c"}
    way = Fanout(
        fanout(sqs)._prefix, sqs, dead(sqs), fifo=False, deployed=set().__contains__, made=made.get
    )
    assert way.send(HOOK, outbox("a", "b")) == []
    assert keys(received(sqs, url)) == [["a", "b"]]


def test_its_queue_may_be_ordered_where_the_others_are_not(sqs: "SQSClient") -> None:
    url = made_queue(sqs, "Bucketcast-runtime-webhook-primary-0a1b2c.fifo", **FIFO)
    made = {HOOK: "Bucketcast-runtime-webhook-primary-0a1b2c.fifo"}
    way = Fanout(
        fanout(sqs)._prefix, sqs, dead(sqs), fifo=False, deployed=set().__contains__, made=made.get
    )
    assert way.send(HOOK, outbox("a", "b")) == []
    assert keys(received(sqs, url)) == [["a"], ["b"]]


def test_a_queue_that_is_not_there_yet_is_waited_for(sqs: "SQSClient") -> None:
    """SQS may take a second to know a queue that was made; the next look at the table tells."""
    made = {HOOK: "Bucketcast-runtime-webhook-primary-0a1b2c"}
    way = Fanout(
        fanout(sqs)._prefix, sqs, dead(sqs), fifo=False, deployed=set().__contains__, made=made.get
    )
    (left,) = way.send(HOOK, outbox("a"))
    assert left.origins == {"message of a"}


def test_while_run_time_targets_cannot_be_read_their_events_are_left(sqs: "SQSClient") -> None:
    def refuse(_: str) -> str:
        raise EndpointConnectionError(endpoint_url="https://dynamodb")

    way = Fanout(
        fanout(sqs)._prefix, sqs, dead(sqs), fifo=False, deployed=set().__contains__, made=refuse
    )
    (left,) = way.send(HOOK, outbox("a"))
    assert (left.origins, left.reason) == ({"message of a"}, "its queue is not known now")
    again = way.forward(HOOK, left.body)
    assert again is not None
    assert again.reason == left.reason


def test_a_deployed_target_is_itself_whatever_was_made_by_its_name(sqs: "SQSClient") -> None:
    url = made_queue(sqs)
    asked: list[str] = []

    def made(arn: str) -> str:
        asked.append(arn)
        return "Bucketcast-runtime-webhook-primary-0a1b2c"

    way = Fanout(
        fanout(sqs)._prefix,
        sqs,
        dead(sqs),
        fifo=False,
        deployed={HOOK}.__contains__,
        made=made,
    )
    assert way.send(HOOK, outbox("a")) == []
    assert keys(received(sqs, url)) == [["a"]]
    assert asked == [], "nor is the table asked for it"


def test_events_that_go_nowhere_are_counted(sqs: "SQSClient") -> None:
    way = fanout(sqs)
    gone = "arn:minio:sqs::gone:webhook"
    assert way.send(gone, outbox("a", "b")) == []
    assert way.forward(gone, "no envelope") is None
    assert way.take_skipped() == {gone: 3}
    assert way.take_skipped() == {}
