"""A function of a queue that cannot start: what becomes of its messages."""

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast import telemetry
from bucketcast.aws import function_clients
from bucketcast.delivery import alarms, retention, retries
from bucketcast.queues import ingress
from bucketcast.runtime.model import ONCE
from functions import startup
from tests.unit.made import received

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

REGION = "eu-central-1"
ACCOUNT = "123456789012"
DAY = 86_400


class Context:
    """Lambda's clock: a minute is left."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


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

    def call(self, receives: int, age: float = 0.0, **attributes: str) -> dict[str, Any]:
        """Give it one message that was received so often."""
        group: Any = {"MessageGroupId": "g"} if self.name.endswith(".fifo") else {}
        self.sqs.send_message(QueueUrl=self.url, MessageBody="body", **group)
        (taken,) = self.sqs.receive_message(QueueUrl=self.url)["Messages"]
        record = {
            "messageId": "1",
            "receiptHandle": taken["ReceiptHandle"],
            "body": taken["Body"],
            "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{self.name}",
            "attributes": {
                "SentTimestamp": str(round((time.time() - age) * 1_000)),
                "ApproximateReceiveCount": str(receives),
            },
            "messageAttributes": {
                name: {"stringValue": text, "dataType": "String"}
                for name, text in attributes.items()
            },
        }
        return self.handler({"Records": [record]}, Context())

    def count(self, which: str) -> int:
        name: Any = f"ApproximateNumberOfMessages{which}"
        answer = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])
        return int(answer["Attributes"][name])


@pytest.fixture
def broken(sqs: "SQSClient") -> Broken:
    return Broken(sqs, "Bucketcast-ingress")


def test_it_fails_and_lets_messages_wait(broken: Broken) -> None:
    with pytest.raises(ImportError, match="no client"):
        broken.call(12)
    # Not seen again after the queue's own time, by which SQS counts to its thousand in a day.
    assert received(broken.sqs, broken.url) == []
    with pytest.raises(ImportError, match="no client"):
        broken.handler({"probe": True}, Context())


def test_it_says_how_long_they_wait_as_its_handler_would(
    broken: Broken, capsys: pytest.CaptureFixture[str]
) -> None:
    """The alarm on what waits sees a function without a handler too."""
    with pytest.raises(ImportError, match="no client"):
        broken.call(12, age=1_000)
    telemetry.waited(broken.name, 1_000)
    said, expected = map(json.loads, capsys.readouterr().out.splitlines())
    for each in (said, expected):
        del each["_aws"]["Timestamp"]
    assert said == expected


def test_pauses_grow_and_last_longer_than_sqs_counts() -> None:
    def pause(receives: int, age: float = 0.0, *, in_order: bool = False) -> int:
        sent = round((time.time() - age) * 1_000)
        system_attributes = {"ApproximateReceiveCount": str(receives), "SentTimestamp": str(sent)}
        return startup._pause({"attributes": system_attributes}, in_order=in_order)

    assert pause(1) == 1
    assert 600 <= pause(400) <= 1_200
    at_least = sum(2.0 ** min(n, 10) * 0.5 for n in range(retries.RENEW_AFTER))
    assert at_least > 2 * DAY
    # In order, where nothing is sent again, the receives that are left last for the time that is.
    assert pause(900, 3 * DAY, in_order=True) * 99 > 10 * DAY


def test_it_keeps_no_message_in_memory(broken: Broken) -> None:
    lengths = []
    for _ in range(2):
        with pytest.raises(ImportError) as failed:
            broken.call(12)
        lengths.append(len(list(traceback.walk_tb(failed.value.__traceback__))))
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize(("receives", "age"), [(500, 0.0), (3, 13.6 * DAY)])
def test_what_sqs_would_soon_move_or_drop_is_sent_again(
    broken: Broken, receives: int, age: float
) -> None:
    beside = {"bucketcast-since": "17", "bucketcast-tries": "3", "theirs": "x"}
    assert broken.call(receives, age, **beside) == {"batchItemFailures": []}
    (again,) = received(broken.sqs, broken.url)
    assert again["Body"] == "body"
    created = again["texts"].pop("bucketcast-created")
    assert abs(time.time() - age - int(created) / 1_000) < DAY
    assert again["texts"] == {"bucketcast-since": "17", "bucketcast-tries": "3"}


def test_in_a_fifo_queue_nothing_is_sent_again(sqs: "SQSClient") -> None:
    broken = Broken(sqs, "Bucketcast-webhook-primary.fifo")
    with pytest.raises(ImportError):
        broken.call(500)
    assert (broken.count(""), broken.count("NotVisible")) == (0, 1)


def test_what_is_tried_once_is_not_lost(sqs: "SQSClient") -> None:
    """Received more than three times it would be given up untried by a function that starts."""
    broken = Broken(sqs, f"Bucketcast-runtime-webhook-{ONCE}")
    with pytest.raises(ImportError):
        broken.call(1)
    assert broken.call(2) == {"batchItemFailures": []}
    assert broken.count("Delayed") == 1


def test_messages_that_sqs_does_not_take_stay(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> Mapping[str, Any]:
        raise ConnectionError

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", refuses)
    event = {"Records": [json.loads(RECORD)]}
    with pytest.raises(ImportError):
        broken.handler(event, Context())


RECORD = json.dumps(
    {
        "messageId": "1",
        "receiptHandle": "r",
        "body": "body",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:Bucketcast-ingress",
        "attributes": {"SentTimestamp": "0", "ApproximateReceiveCount": "600"},
    }
)


def test_its_names_and_figures_are_those_of_the_package() -> None:
    assert startup.RENEW_AFTER == retries.RENEW_AFTER
    assert startup.MAX_RECEIVES == retention.MAX_RECEIVES
    assert startup.LONGEST_PAUSE == retries.LONGEST_PAUSE
    assert startup.LAST_CALL * 1_000 == retries._LAST_CALL_MS
    assert startup.PREFIX == ingress._PREFIX
    assert startup.OLDEST == alarms.OLDEST
    assert f"-{ONCE}" == startup.ONCE
    limits = {name: getattr(function_clients.LIMITS, name) for name in startup.LIMITS}
    assert limits == startup.LIMITS


def test_it_needs_no_package_to_start() -> None:
    code = "import functions.startup as s; print(s.handler.__name__)"
    command = [sys.executable, "-S", "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    assert ended.stdout == "handler\n"
    assert "BUCKETCAST_HANDLER" in ended.stderr
