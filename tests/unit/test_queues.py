"""Sending in batches, dead-lettering with a reason, and SQS's limits."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast.delivery.envelope import MAX_BYTES, zstd
from bucketcast.queues import Outgoing, Queue, dead_letter, queue_name
from tests.unit.made import received

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Refusal = Callable[[str], Mapping[str, Any] | None]


class Sqs:
    """Takes batches as SQS does, but for the entries that `refuse` finds by their bodies."""

    def __init__(self, refuse: Refusal = lambda _: None) -> None:
        self.refuse = refuse
        self.batches: list[list[dict[str, Any]]] = []
        self.postponed: list[list[dict[str, Any]]] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        assert QueueUrl == "url"
        self.batches.append(Entries)
        refused = [
            {"Id": each["Id"], "Message": "why", **found}
            for each in Entries
            if (found := self.refuse(each["MessageBody"]))
        ]
        return {"Failed": refused} if refused else {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        assert QueueUrl == "url"
        self.postponed.append(Entries)
        return {}

    @property
    def bodies(self) -> list[list[str]]:
        return [[each["MessageBody"] for each in batch] for batch in self.batches]


def send(client: Any, *bodies: str) -> dict[int, str]:
    return Queue("url", client).send([Outgoing(body) for body in bodies])


def test_ten_messages_at_most_go_in_one_call() -> None:
    client = Sqs()
    assert send(client, *map(str, range(25))) == {}
    assert client.bodies == [
        [str(n) for n in range(10)],
        [str(n) for n in range(10, 20)],
        [str(n) for n in range(20, 25)],
    ]
    assert all(len({each["Id"] for each in batch}) == len(batch) for batch in client.batches)


def test_nothing_is_no_call() -> None:
    client = Sqs()
    assert send(client) == {}
    assert client.batches == []


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([600_000, 600_000, 400_000], [1, 2]),
        ([MAX_BYTES, 1, MAX_BYTES], [1, 1, 1]),
        ([MAX_BYTES // 2, MAX_BYTES // 2, 1], [2, 1]),
        ([1] * 3, [3]),
    ],
)
def test_one_call_carries_no_more_than_sqs_allows(sizes: list[int], batches: list[int]) -> None:
    client = Sqs()
    assert send(client, *("x" * size for size in sizes)) == {}
    assert [len(batch) for batch in client.bodies] == batches
    assert [len(body) for batch in client.bodies for body in batch] == sizes
    for batch in client.bodies:
        assert sum(map(len, batch)) <= 1_048_576


def test_size_counts_bytes_and_attributes() -> None:
    """SQS counts an attribute's name, its type and its value."""
    assert Outgoing("é😀").size == 6
    assert Outgoing("x", attributes={"reason": "é"}).size == 1 + len("reason") + len("String") + 2


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_message_that_is_too_large_fails_alone(index: int) -> None:
    bodies = ["a", "b"]
    bodies.insert(index, "x" * (MAX_BYTES + 1))
    client = Sqs()
    failed = send(client, *bodies)
    assert failed == {index: f"a message of {MAX_BYTES + 1} bytes; SQS takes {MAX_BYTES}"}
    assert client.bodies == [["a", "b"]]


def test_fault_of_sqs_is_tried_once_more_and_alone() -> None:
    seen: list[str] = []

    def once(body: str) -> Mapping[str, Any] | None:
        seen.append(body)
        first = seen.count(body) == 1
        return {"Code": "InternalError", "SenderFault": False} if body == "b" and first else None

    client = Sqs(once)
    assert send(client, "a", "b", "c") == {}
    assert client.bodies == [["a", "b", "c"], ["b"]]


def test_what_is_refused_twice_is_reported_by_its_index() -> None:
    client = Sqs(lambda b: {"Code": "InternalError", "SenderFault": False} if b == "11" else None)
    assert send(client, *map(str, range(13))) == {11: "InternalError: why"}
    assert client.bodies[1:] == [["10", "11", "12"], ["11"]]


def test_fault_of_ours_is_not_tried_again() -> None:
    def refuse(body: str) -> Mapping[str, Any] | None:
        history = {
            "a": {"Code": "InvalidMessageContents", "SenderFault": True},
            "b": {"Code": "InternalError", "SenderFault": False},
        }
        return history.get(body)

    client = Sqs(refuse)
    failed = send(client, "a", "b", "c")
    assert failed == {0: "InvalidMessageContents: why", 1: "InternalError: why"}
    assert client.bodies == [["a", "b", "c"], ["b"]]


def test_fields_are_there_only_where_they_mean_something() -> None:
    client = Sqs()
    Queue("url", client).send(  # type: ignore[arg-type]
        [
            Outgoing("plain"),
            Outgoing("late", delay=7),
            Outgoing("ordered", group="arn", token="t1"),
            Outgoing("dead", attributes={"reason": "why"}),
        ]
    )
    assert client.batches == [
        [
            {"Id": "0", "MessageBody": "plain"},
            {"Id": "1", "MessageBody": "late", "DelaySeconds": 7},
            {
                "Id": "2",
                "MessageBody": "ordered",
                "MessageGroupId": "arn",
                "MessageDeduplicationId": "t1",
            },
            {
                "Id": "3",
                "MessageBody": "dead",
                "MessageAttributes": {"reason": {"DataType": "String", "StringValue": "why"}},
            },
        ]
    ]


def test_pauses_are_set_ten_at_a_time() -> None:
    client = Sqs()
    Queue("url", client).postpone({f"r{n}": n for n in range(12)})  # type: ignore[arg-type]
    assert [len(batch) for batch in client.postponed] == [10, 2]
    assert client.postponed[1] == [
        {"Id": "0", "ReceiptHandle": "r10", "VisibilityTimeout": 10},
        {"Id": "1", "ReceiptHandle": "r11", "VisibilityTimeout": 11},
    ]


# Burying


def test_a_dead_letter_holds_the_original_and_the_reason() -> None:
    letter = dead_letter("the body", "no such table", error="Rejected", rule="", target="arn")
    assert letter.body == "the body"
    assert letter.attributes == {"reason": "no such table", "error": "Rejected", "target": "arn"}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\r\n\tand more", "two\nlines\r\n\tand more"),
        ("a\0b\x07c\x1bd", "a?b?c?d"),
        ("half \ud800 a pair", "half ? a pair"),
        ("\ufffe\uffff\ufffd", "??\ufffd"),
        ("é😀", "é😀"),
        ("x" * 2_000, "x" * 1_000),
        ("", "unknown"),
    ],
)
def test_reason_holds_only_what_sqs_takes(reason: str, expected: str, sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    assert Queue(url, sqs).send([dead_letter("body", reason)]) == {}
    (found,) = received(sqs, url)
    assert found["texts"] == {"reason": expected}


@pytest.mark.parametrize("size", [MAX_BYTES - 2_000, MAX_BYTES, 1_048_576])
def test_body_without_room_for_its_reason_is_buried_compressed(size: int, sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    body = ("0123456789" * (size // 10 + 1))[:size]
    assert Queue(url, sqs).send([dead_letter(body, "é" * 2_000, error="BadEvent")]) == {}
    (found,) = received(sqs, url)
    assert found["texts"] == {"reason": "é" * 1_000, "error": "BadEvent"}
    packed = json.loads(found["Body"])
    assert packed.keys() == {"zstd"}
    assert zstd.decompress(b64decode(packed["zstd"])).decode() == body


def test_body_that_fits_beside_its_reason_is_buried_as_it_is() -> None:
    body = "x" * (MAX_BYTES - 1_000 - len("reason") - len("String"))
    assert dead_letter(body, "y" * 1_000).body == body
    assert dead_letter(body + "x", "y" * 1_000).body != body + "x"


@pytest.mark.parametrize("character", ["", "é", "😀"])
def test_rubbish_that_does_not_compress_is_buried_with_its_beginning(
    character: str, sqs: "SQSClient"
) -> None:
    """Staying where it is, it would come back for hours; a cut never leaves half a character."""
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    rubbish = character + b64encode(Random(1).randbytes(786_000)).decode()  # noqa: S311 - repeatable
    rubbish += character * ((1_048_576 - len(rubbish)) // 4)
    assert Queue(url, sqs).send([dead_letter(body, "no JSON") for body in ("a", rubbish)]) == {}
    first, second = received(sqs, url)
    assert first["texts"] == {"reason": "no JSON"}
    assert second["texts"] == {
        "reason": "no JSON",
        "cut": f"this is the beginning of {len(rubbish.encode())} bytes",
    }
    assert rubbish.startswith(second["Body"])
    assert len(second["Body"]) > 1_000_000


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "Bucketcast-webhook-primary"),
        ({"dead": True}, "Bucketcast-webhook-primary-dead"),
        ({"fifo": True}, "Bucketcast-webhook-primary.fifo"),
        ({"dead": True, "fifo": True}, "Bucketcast-webhook-primary-dead.fifo"),
    ],
)
def test_names_of_queues(more: dict[str, bool], name: str) -> None:
    assert queue_name("Bucketcast", "webhook", "primary", **more) == name
