"""Sending in batches, and SQS's limits and refusals."""

from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import COUNTS, Outgoing, Queue, make_queue
from bucketcast.delivery.queue_names import dead_of
from bucketcast.limits import MESSAGE_BYTES

Refusal = Callable[[str], Mapping[str, Any] | None]
OF_SQS = {"Code": "InternalError", "SenderFault": False}
OURS = {"Code": "InvalidMessageContents", "SenderFault": True}
BROKEN = EndpointConnectionError(endpoint_url="https://sqs")


class Sqs:
    """Takes batches as SQS does, but for the entries that `refuse` finds by their bodies.

    The call of index `breaks` fails as a whole.
    """

    def __init__(self, refuse: Refusal = lambda _: None, *, breaks: int | None = None) -> None:
        self.refuse = refuse
        self.breaks = breaks
        self.batches: list[list[dict[str, Any]]] = []
        self.postponed: list[list[dict[str, Any]]] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        self.url = QueueUrl
        self.batches.append(Entries)
        if len(self.batches) - 1 == self.breaks:
            raise BROKEN
        refused = [
            {"Id": each["Id"], "Message": "why", **found}
            for each in Entries
            if (found := self.refuse(each["MessageBody"]))
        ]
        return {"Failed": refused} if refused else {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        self.url = QueueUrl
        self.postponed.append(Entries)
        return {}

    @property
    def bodies(self) -> list[list[str]]:
        return [[each["MessageBody"] for each in batch] for batch in self.batches]


def send(client: Any, *bodies: str) -> dict[int, str]:
    return Queue("url", client).send([Outgoing(body) for body in bodies])


def test_nothing_is_no_call() -> None:
    client = Sqs()
    assert send(client) == {}
    assert client.batches == []


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([600_000, 600_000, 400_000], [1, 2]),
        ([MESSAGE_BYTES, 1, MESSAGE_BYTES], [1, 1, 1]),
        ([MESSAGE_BYTES // 2, MESSAGE_BYTES // 2, 1], [2, 1]),
        ([1] * 3, [3]),
        ([1] * 25, [10, 10, 5]),
    ],
)
def test_one_call_carries_no_more_than_sqs_allows(sizes: list[int], batches: list[int]) -> None:
    client = Sqs()
    assert send(client, *("x" * size for size in sizes)) == {}
    assert [len(batch) for batch in client.bodies] == batches
    assert [len(body) for batch in client.bodies for body in batch] == sizes
    for batch in client.bodies:
        assert sum(map(len, batch)) <= MESSAGE_BYTES


def test_size_counts_bytes_and_attributes() -> None:
    """SQS counts an attribute's name, its type and its value."""
    assert Outgoing("é😀").size == 6
    assert Outgoing("x", attributes={"reason": "é"}).size == 1 + len("reason") + len("String") + 2


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_message_that_is_too_large_fails_alone(index: int) -> None:
    bodies = ["a", "b"]
    bodies.insert(index, "x" * (MESSAGE_BYTES + 1))
    client = Sqs()
    failed = send(client, *bodies)
    assert failed == {index: f"a message of {MESSAGE_BYTES + 1} bytes; SQS takes {MESSAGE_BYTES}"}
    assert client.bodies == [["a", "b"]]


def test_fault_of_sqs_is_tried_once_more_and_alone() -> None:
    seen: list[str] = []

    def once(body: str) -> Mapping[str, Any] | None:
        seen.append(body)
        return OF_SQS if body == "b" and seen.count(body) == 1 else None

    client = Sqs(once)
    assert send(client, "a", "b", "c") == {}
    assert client.bodies == [["a", "b", "c"], ["b"]]


def test_fault_of_ours_is_not_tried_again() -> None:
    client = Sqs({"a": OURS, "b": OF_SQS}.get)
    failed = send(client, "a", "b", "c")
    assert failed == {0: "InvalidMessageContents: why", 1: "InternalError: why"}
    assert client.bodies == [["a", "b", "c"], ["b"]]


def test_sent_messages_stay_sent_if_the_repeat_fails() -> None:
    """All of it would be sent again, and be there twice."""
    client = Sqs({"b": OF_SQS}.get, breaks=1)
    assert send(client, "a", "b", "c") == {1: "InternalError: why"}


def test_sent_messages_stay_sent_if_a_later_call_fails() -> None:
    client = Sqs(breaks=1)
    assert send(client, *map(str, range(12))) == {10: str(BROKEN), 11: str(BROKEN)}


@pytest.mark.parametrize("refused", [(), ("a", "b")])
def test_a_call_that_took_nothing_fails(refused: tuple[str, ...]) -> None:
    client = Sqs(dict.fromkeys(refused, OF_SQS).get, breaks=1 if refused else 0)
    with pytest.raises(EndpointConnectionError):
        send(client, "a", "b")


def test_message_has_only_attributes_that_differ() -> None:
    client = Sqs()
    history = History(since=7, tries=2, reason="a\0b")
    messages = [
        Outgoing("plain", token="t0"),
        Outgoing("late", delay=7),
        Outgoing("tried", history=history),
        Outgoing("dead", attributes={"reason": "why"}),
    ]
    Queue("url", client).send(messages)  # type: ignore[arg-type]
    told = '{"since":7,"tries":2,"reason":"a\\u0000b"}'
    assert client.batches == [
        [
            {"Id": "0", "MessageBody": "plain"},
            {"Id": "1", "MessageBody": "late", "DelaySeconds": 7},
            {
                "Id": "2",
                "MessageBody": "tried",
                "MessageAttributes": {"bucketcast": {"DataType": "String", "StringValue": told}},
            },
            {
                "Id": "3",
                "MessageBody": "dead",
                "MessageAttributes": {"reason": {"DataType": "String", "StringValue": "why"}},
            },
        ]
    ]


def test_fifo_messages_share_a_group_unless_they_name_another() -> None:
    """SQS refuses a delay there, and drops a token that it has seen within five minutes."""
    client = Sqs()
    messages = [
        Outgoing("next", delay=7, token="t1"),
        Outgoing("again"),
        Outgoing("again"),
        Outgoing("dead", group="alone"),
    ]
    Queue("url.fifo", client).send(messages)  # type: ignore[arg-type]
    (sent,) = client.batches
    assert not any("DelaySeconds" in each for each in sent)
    assert [each["MessageGroupId"] for each in sent] == ["events", "events", "events", "alone"]
    assert len({each["MessageDeduplicationId"] for each in sent}) == 4
    assert sent[0]["MessageDeduplicationId"] == "t1"


@pytest.mark.parametrize(("counts", "number"), [([2, 3, 5], 10), ([], None)])
def test_what_waits_is_counted_where_sqs_answers(counts: list[int], number: int | None) -> None:
    answer = {"Attributes": dict(zip(COUNTS, map(str, counts), strict=False))}
    client = Mock(get_queue_attributes=Mock(side_effect=[answer] if counts else BROKEN))
    assert Consumer(Queue("url", client), lambda _: set()).count() == number


def test_queues_made_at_run_time_take_what_is_sent() -> None:
    make_queue("own", client := Mock(), "")
    attributes = client.create_queue.call_args.kwargs["Attributes"]
    assert attributes["MaximumMessageSize"] == str(MESSAGE_BYTES)


def test_pauses_are_set_ten_at_a_time() -> None:
    client = Sqs()
    Queue("url", client).postpone({f"r{n}": n for n in range(12)})  # type: ignore[arg-type]
    assert [len(batch) for batch in client.postponed] == [10, 2]
    assert client.postponed[1] == [
        {"Id": "0", "ReceiptHandle": "r10", "VisibilityTimeout": 10},
        {"Id": "1", "ReceiptHandle": "r11", "VisibilityTimeout": 11},
    ]


@pytest.mark.parametrize(
    ("own", "dead"),
    [
        ("Bucketcast-webhook-primary", "Bucketcast-webhook-primary-dead"),
        ("Bucketcast-webhook-primary.fifo", "Bucketcast-webhook-primary-dead.fifo"),
    ],
)
def test_a_queue_names_its_dead_letter_queue(own: str, dead: str) -> None:
    assert dead_of(own) == dead
