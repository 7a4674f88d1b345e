"""Dispatch's queue: how events leave a batch other than by delivery."""

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.delivery.envelope import Delivery, Envelope, unpack
from bucketcast.dispatch import Dead, Message, Requeue
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from tests.unit.made import event, received

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HOOK = "arn:minio:sqs::primary:webhook"
FIFO = {"FifoQueue": "true"}


class Queues:
    """A target's two queues, and the queue to them."""

    def __init__(self, sqs: "SQSClient", *, fifo: bool = False) -> None:
        end, attributes = (".fifo", FIFO) if fifo else ("", {})
        self.sqs = sqs
        self.own, self.dead = (
            sqs.create_queue(QueueName=f"hook{part}{end}", Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]
            for part in ("", "-dead")
        )
        self.queue = TargetQueue(HOOK, Queue(self.own, sqs), Queue(self.dead, sqs), fifo=fifo)


def dead(key: str, reason: str = "refused") -> Dead:
    delivery = Delivery("rule-1", event(key, record=msgspec.Raw(b'{"a":1}')))
    return Dead(delivery, 7, "Rejected", reason)


def test_dead_event_lies_alone_with_its_reason(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    assert queues.queue.dead_letter([dead("a", "too long"), dead("b")]) == set()
    first, second = received(sqs, queues.dead)
    assert first["texts"] == {
        "reason": "too long",
        "error": "Rejected",
        "rule": "rule-1",
        "target": HOOK,
    }
    envelope, (delivery,) = unpack(first["Body"])
    assert (envelope.since, envelope.attempts, delivery.event.key) == (7, 0, "a")
    assert json.loads(first["Body"])["events"][0]["event"]["record"] == {"a": 1}
    assert unpack(second["Body"])[1][0].event.key == "b"


@pytest.mark.parametrize("character", ["\ufffe", "\uffff"])
def test_event_whose_key_sqs_refuses_as_it_is_can_be_buried(character: str) -> None:
    client = RecordingClient()
    assert queue(client).dead_letter([dead(f'a{character}"b')]) == set()
    ((_, entry),) = client.sent
    assert character not in entry["MessageBody"]
    assert unpack(entry["MessageBody"])[1][0].event.key == f'a{character}"b'


def test_a_broken_message_is_dead_lettered_unchanged(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    assert queues.queue.dead_letter_message(Message("id", "r", "rubbish", 0, 1), "no envelope")
    (found,) = received(sqs, queues.dead)
    assert found["Body"] == "rubbish"
    assert found["texts"] == {"reason": "no envelope", "target": HOOK}


def test_an_abandoned_message_names_the_class_of_its_error(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    assert queues.queue.dead_letter_message(Message("id", "r", "{}", 0, 1), "why", "NotConnected")
    (found,) = received(sqs, queues.dead)
    assert found["texts"] == {"reason": "why", "error": "NotConnected", "target": HOOK}


def test_event_may_be_buried_again_from_an_ordered_queue(sqs: "SQSClient") -> None:
    """SQS drops for five minutes what has a token it knows; a redriven event has died before."""
    queues = Queues(sqs, fifo=True)
    for _ in range(2):
        assert queues.queue.dead_letter([dead("a")]) == set()
        assert queues.queue.dead_letter_message(Message("id", "r", "rubbish", 0, 1), "why")
    assert len(received(sqs, queues.dead)) == 4


def test_part_goes_back_with_its_history(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    part = [dead("a").delivery, dead("b").delivery]
    assert queues.queue.requeue([Requeue(part, Envelope(7, attempts=4), 0)]) == set()
    (found,) = received(sqs, queues.own)
    envelope, deliveries = unpack(found["Body"])
    assert (envelope.since, envelope.attempts) == (7, 4)
    assert [each.event.key for each in deliveries] == ["a", "b"]


def test_reason_that_goes_back_is_one_that_sqs_takes(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    history = Envelope(7, attempts=4, reason="\ufffe\ud800" + "x" * 2_000, error="Retryable")
    assert queues.queue.requeue([Requeue([dead("a").delivery], history, 0)]) == set()
    (found,) = received(sqs, queues.own)
    envelope, _ = unpack(found["Body"])
    assert (envelope.reason, envelope.error) == ("??" + "x" * 998, "Retryable")


def test_message_is_sent_again_as_it_is(sqs: "SQSClient") -> None:
    queues = Queues(sqs)
    assert queues.queue.send_again(["body", "other"]) == set()
    assert [each["Body"] for each in received(sqs, queues.own)] == ["body", "other"]


class RecordingClient:
    """Records what it is asked to send; answers as configured."""

    def __init__(self, answer: Any = None) -> None:
        self.sent: list[Any] = []
        self.answer = answer or {}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        if isinstance(self.answer, Exception):
            raise self.answer
        self.sent += [(QueueUrl, each) for each in Entries]
        return self.answer

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        return self.send_message_batch(QueueUrl=QueueUrl, Entries=Entries)


def queue(client: Any) -> TargetQueue:
    return TargetQueue(HOOK, Queue("own", client), Queue("dead", client), fifo=False)


@pytest.mark.parametrize(("pause", "delay"), [(1, 1), (900, 900), (1_200, 900)])
def test_pause_of_a_part_is_no_longer_than_sqs_takes(pause: int, delay: int) -> None:
    client = RecordingClient()
    assert queue(client).requeue([Requeue([dead("a").delivery], Envelope(1), pause)]) == set()
    ((url, entry),) = client.sent
    assert (url, entry["DelaySeconds"]) == ("own", delay)


NO_ANSWER = EndpointConnectionError(endpoint_url="https://sqs")
REFUSED = {"Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": True}]}


def test_reason_in_a_message_that_is_sent_again_is_one_that_sqs_takes() -> None:
    """What SQS refused was tried without end, whatever the limits of its topic."""
    client = RecordingClient()
    body = msgspec.json.encode(Envelope(7, attempts=1, reason="503: \uffff", events=[])).decode()
    assert queue(client).send_again([body]) == set()
    ((_, entry),) = client.sent
    assert "\uffff" not in entry["MessageBody"]
    assert unpack(entry["MessageBody"]) == unpack(body)


def test_what_sqs_did_not_take_is_answered() -> None:
    assert queue(RecordingClient(REFUSED)).dead_letter([dead("a"), dead("b")]) == {1}
    assert queue(RecordingClient(NO_ANSWER)).dead_letter([dead("a"), dead("b")]) == {0, 1}
    assert not queue(RecordingClient(NO_ANSWER)).dead_letter_message(
        Message("id", "r", "b", 0, 1), "why"
    )
    back = Requeue([dead("a").delivery], Envelope(1), 1)
    assert queue(RecordingClient(NO_ANSWER)).requeue([back]) == {0}
    assert queue(RecordingClient(NO_ANSWER)).send_again(["body", "other"]) == {0, 1}
    assert queue(RecordingClient()).dead_letter_message(Message("id", "r", "b", 0, 1), "why")


def test_pause_that_sqs_does_not_take_is_no_mishap() -> None:
    queue(RecordingClient(NO_ANSWER)).postpone({"receipt": 5})
    client = RecordingClient()
    queue(client).postpone({"receipt": 5})
    ((url, entry),) = client.sent
    assert (url, entry["VisibilityTimeout"]) == ("own", 5)


def test_class_of_the_error_is_reported() -> None:
    client = RecordingClient()
    one = dead("a")._replace(error="NotConnected")
    assert queue(client).dead_letter([one]) == set()
    ((_, entry),) = client.sent
    assert entry["MessageAttributes"]["error"]["StringValue"] == "NotConnected"
