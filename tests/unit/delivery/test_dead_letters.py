"""Dead letters: what they hold, and that SQS takes each."""

import json
from base64 import b64encode
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from bucketcast.delivery.dead_letters import Dead, of_event, write
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Queue
from bucketcast.limits import MESSAGE_BYTES
from tests.unit.samples import event, received

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ARN = "arn:minio:sqs::primary:webhook"
REDRIVEN = '{"redriven":true}'


def written(sqs: "SQSClient", *dead: Dead) -> list[dict[str, Any]]:
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    assert write(dead, Queue(url, sqs), ARN) == set()
    return received(sqs, url)


def texts(sqs: "SQSClient", dead: Dead) -> Mapping[str, str]:
    (found,) = written(sqs, dead)
    attributes: Mapping[str, str] = found["texts"]
    return attributes


def test_dead_letter_holds_the_original_and_the_data_of_a_redrive(sqs: "SQSClient") -> None:
    """Its term begins anew, and its topic's limits would end it at once."""
    history = History(7, 3, "busy", "Retryable", created=5, to="arn", topic="topic", not_before=9)
    (found,) = written(sqs, Dead("the body", history, "Rejected", "no such table", "rule", "422"))
    assert found["Body"] == "the body"
    assert found["texts"] == {
        "bucketcast": '{"created":5,"to":"arn","topic":"topic","redriven":true}',
        "reason": "no such table",
        "error": "Rejected",
        "rule": "rule",
        "target": ARN,
        "history": history._replace(reason="", error="").json,
        "answer": "422",
    }


def test_dead_letter_of_ingest_names_its_destination(sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    dead = Dead("body", History(to=ARN), "Retryable", "full")
    assert write([dead], Queue(url, sqs)) == set()
    assert received(sqs, url)[0]["texts"]["target"] == ARN


def test_event_too_large_for_an_envelope_is_dead_lettered_as_its_record(sqs: "SQSClient") -> None:
    noise = b64encode(Random(1).randbytes(800_000)).decode()  # noqa: S311 - repeatable
    record = json.dumps({"key": "\ufffe", "noise": noise}, ensure_ascii=False).encode()
    delivery = Delivery("rule", event(stored=msgspec.Raw(record)))
    (found,) = written(sqs, of_event(delivery, History(), "TooLarge", "it is"))
    assert found["Body"].startswith('{"key": "\\ufffe", "noise": "' + noise[:1_000])
    assert found["texts"]["rule"] == "rule"


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
def test_reason_holds_only_characters_that_sqs_takes(
    reason: str, expected: str, sqs: "SQSClient"
) -> None:
    assert texts(sqs, Dead("body", History(), "", reason))["reason"] == expected


@pytest.mark.parametrize(("more", "packed"), [(0, False), (1, True)])
def test_body_is_compressed_only_if_it_has_to_be(
    more: int, sqs: "SQSClient", *, packed: bool
) -> None:
    told = {"reason": "y" * 1_000, "target": ARN, "bucketcast": REDRIVEN}
    beside = sum(len(name) + len("String") + len(text) for name, text in told.items())
    (found,) = written(
        sqs, Dead("x" * (MESSAGE_BYTES - beside + more), History(), "", told["reason"])
    )
    assert found["texts"] == told
    assert found["Body"].startswith("{") is packed


@pytest.mark.parametrize("character", ["", "é", "😀"])
def test_incompressible_body_is_dead_lettered_cut(character: str, sqs: "SQSClient") -> None:
    """Staying where it is, it would come back for hours; a cut never leaves half a character."""
    rubbish = character + b64encode(Random(1).randbytes(786_400)).decode()  # noqa: S311 - repeatable
    rubbish += character * ((MESSAGE_BYTES - len(rubbish)) // 4)
    first, second = written(sqs, *(Dead(body, History(), "", "no JSON") for body in ("a", rubbish)))
    assert "cut" not in first["texts"]
    assert second["texts"]["cut"] == f"this is the beginning of {len(rubbish.encode())} bytes"
    assert rubbish.startswith(second["Body"])
    assert len(second["Body"]) > 1_000_000


def test_each_is_a_group_of_its_own_in_a_fifo_queue(sqs: "SQSClient") -> None:
    """Of one group SQS would show the first only, until they are gone."""
    url = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    dead = [Dead("same", History(), "", "why")] * 3
    assert write(dead, Queue(url, sqs), ARN) == set()
    assert len({each["Attributes"]["MessageGroupId"] for each in received(sqs, url)}) == 3


def test_refused_dead_letters_are_logged(sqs: "SQSClient") -> None:
    missing = Queue("https://sqs.eu-west-1.amazonaws.com/123456789012/none", sqs)
    assert write([Dead("a", History(), "", "why")] * 2, missing, ARN) == {0, 1}
