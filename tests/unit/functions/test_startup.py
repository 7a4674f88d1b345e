"""A function of a queue that cannot start: what becomes of its messages."""

import time
import traceback
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock, patch

import pytest

from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.delivery.queue_names import ONCE
from bucketcast.limits import MESSAGE_BYTES, REASON_CHARACTERS
from functions import startup
from tests.unit.samples import depth, lambda_context, received, sqs_record

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

DAY = 86_400


def fails() -> startup.Handler:
    raise ImportError("no client")


class Broken:
    """A queue, and a function that cannot start."""

    def __init__(self, sqs: "SQSClient", name: str) -> None:
        fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        attributes: Any = fifo if name.endswith(".fifo") else {}
        self.sqs = sqs
        self.name = name
        self.url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        self.handler = startup.start(fails)
        self.sent: list[Any] = []
        self.pauses: list[int] = []
        made = "provide-client-params.sqs."
        sqs.meta.events.register(f"{made}SendMessageBatch", self._note)
        sqs.meta.events.register(f"{made}ChangeMessageVisibilityBatch", self._note)

    def _note(self, params: Any, **_: Any) -> None:
        self.sent += [one for one in params["Entries"] if "MessageBody" in one]
        seconds = [one.get("VisibilityTimeout") for one in params["Entries"]]
        self.pauses += [each for each in seconds if each is not None]

    def call(self, receives: int, age: float = 0.0, **attributes: str) -> dict[str, Any]:
        """Give it one message that was received so often."""
        group: Any = {"MessageGroupId": "g"} if self.name.endswith(".fifo") else {}
        self.sqs.send_message(QueueUrl=self.url, MessageBody="body", **group)
        (taken,) = self.sqs.receive_message(QueueUrl=self.url)["Messages"]
        sent = round((time.time() - age) * 1_000)
        record = sqs_record(
            taken["Body"], queue=self.name, receives=receives, sent=sent, beside=attributes
        ) | {"receiptHandle": taken["ReceiptHandle"]}
        with patch("boto3.client", lambda *_args, **_more: self.sqs):
            return self.handler({"Records": [record]}, lambda_context())

    def count(self, which: str) -> int:
        return depth(self.sqs, self.url, which)


@pytest.fixture
def broken(sqs: "SQSClient") -> Broken:
    return Broken(sqs, "Bucketcast-ingress")


def test_it_fails_and_lets_messages_wait(broken: Broken) -> None:
    with pytest.raises(ImportError, match="no client"):
        broken.call(12)
    # Not seen again after the queue's own time, by which SQS counts to its thousand in a day.
    assert received(broken.sqs, broken.url) == []
    with pytest.raises(ImportError, match="no client"):
        broken.handler({"probe": True}, lambda_context())


@pytest.mark.parametrize(
    ("name", "age", "seconds"),
    [
        ("Bucketcast-ingress", 0, 1),
        ("Bucketcast-ingress", 600, 100),
        ("Bucketcast-ingress", DAY, 900),
        ("Bucketcast-webhook-primary.fifo", DAY, 1_500),
    ],
)
def test_messages_wait_for_a_part_of_their_age(
    sqs: "SQSClient", name: str, age: int, seconds: int
) -> None:
    broken = Broken(sqs, name)
    with pytest.raises(ImportError):
        broken.call(3, age)
    assert broken.pauses == [pytest.approx(seconds, abs=1)]


def test_it_keeps_no_message_in_memory(broken: Broken) -> None:
    lengths = []
    for _ in range(2):
        with pytest.raises(ImportError) as failed:
            broken.call(12)
        lengths.append(len(list(traceback.walk_tb(failed.value.__traceback__))))
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize(("receives", "age"), [(500, 0.0), (3, 13.6 * DAY)])
def test_messages_that_sqs_would_soon_move_or_drop_are_sent_again(
    broken: Broken, receives: int, age: float
) -> None:
    told = History(since=17, tries=3, reason="busy", error="Retryable")
    assert broken.call(receives, age, bucketcast=told.json, theirs="x") == {"batchItemFailures": []}
    (again,) = broken.sent
    assert again["MessageBody"] == "body"
    history = History.read(again["MessageAttributes"].pop("bucketcast")["StringValue"])
    assert again["MessageAttributes"] == {}
    assert (history.tries, history.reason) == (3, "busy")
    assert abs(time.time() - age - history.created / 1_000) < DAY


def test_in_a_fifo_queue_nothing_is_sent_again(sqs: "SQSClient") -> None:
    broken = Broken(sqs, "Bucketcast-webhook-primary.fifo")
    with pytest.raises(ImportError):
        broken.call(500)
    assert (broken.count(""), broken.count("NotVisible")) == (0, 1)


def test_message_that_is_tried_once_is_not_lost(sqs: "SQSClient") -> None:
    """Received more than three times it would be given up untried by a function that starts."""
    broken = Broken(sqs, f"Bucketcast-dynamic-webhook-{ONCE}")
    with pytest.raises(ImportError):
        broken.call(1)
    assert broken.call(2) == {"batchItemFailures": []}
    assert broken.count("Delayed") == 1


def test_messages_that_sqs_does_not_take_stay(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broken.sqs, "send_message_batch", MagicMock(side_effect=ConnectionError))
    with pytest.raises(ImportError):
        broken.call(600)
    assert (broken.count(""), broken.count("NotVisible")) == (0, 1)


def test_no_call_is_larger_than_sqs_takes() -> None:
    """A reason has a thousand characters, of four bytes each, and a call one MiB."""
    text = History(1, 3, "\U0001f600" * REASON_CHARACTERS, "NotConnected", topic="t" * 300).json
    sizes: list[int] = []

    def send(Entries: list[dict[str, Any]], **_: Any) -> Any:  # noqa: N803 - SQS's own name
        sizes.append(sum(len(one["MessageBody"]) + len(text.encode()) for one in Entries))
        return {"Successful": [{"Id": one["Id"]} for one in Entries]}

    sqs = MagicMock(send_message_batch=send)
    with patch("boto3.client", lambda *_args, **_more: sqs):
        records = [
            sqs_record("x" * 258_000, number=n, receives=600, sent=1, beside={ATTRIBUTE: text})
            for n in range(8)
        ]
        answer = startup.start(fails)({"Records": records}, lambda_context())
    assert answer == {"batchItemFailures": []}
    assert max(sizes) <= MESSAGE_BYTES
