"""The handler of the functions of queues; messages wait while the real one cannot be loaded.

A function that fails before it has a handler (a package or layer that is missing, a variable that
cannot be read) leaves its messages to SQS. That counts each receive, and after a thousand, within a
day or two, it moves them to the dead letters without a reason. So this imports nothing but what
Python and Lambda bring, and the policy of queues, of which a bundle has a spare copy.
"""

import gc
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if not find_spec("bucketcast"):  # the layer is missing: the bundle has a copy of these two
    sys.path.append(str(Path(__file__).parent / "spare"))

from bucketcast import limits
from bucketcast.delivery import policy

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]

_ATTRIBUTES: Final = 8_192
"""The most bytes of a message's history."""
_ONCE: Final = "-once"


class _Message(NamedTuple):
    """A record of Lambda's, and its term."""

    record: Mapping[str, Any]
    term: policy.Term


def start(load: Callable[[], Handler]) -> Handler:
    """Return the handler that `load` returns, or one that lets messages wait and raises its error.

    The error is raised only if all messages stay; else the answer of Lambda's partial batches says
    which do.
    """
    try:
        return load()
    except Exception as error:
        failure = error
        logging.getLogger().exception(
            "the function cannot start: messages wait until this is fixed"
        )
    traceback = failure.__traceback__

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        if records := event.get("Records"):
            queue_arn = records[0]["eventSourceARN"]
            messages = [_Message(record, _term(record, queue_arn)) for record in records]
            _report_age(queue_arn, messages)
            kept = _wait(queue_arn, messages, context)
            if len(kept) < len(records):
                ids = (message.record["messageId"] for message in kept)
                return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in ids]}
        # Lambda counts it as an error. The traceback of each call would be added to those
        # of all before, and would keep their messages in memory.
        raise failure.with_traceback(traceback)

    return handler


def _term(record: Mapping[str, Any], queue_arn: str) -> policy.Term:
    attribute = (record.get("messageAttributes") or {}).get(policy.ATTRIBUTE) or {}
    system = record["attributes"]
    return policy.Term(
        round(time() * 1_000),
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        policy.History.read(attribute.get("stringValue") or ""),
        policy.Policy(in_order=policy.keeps_order(queue_arn)),
    )


def _report_age(queue_arn: str, messages: Sequence[_Message]) -> None:
    """Write the age of the oldest message, for the alarm on it."""
    dimensions = {"queue": queue_arn.rpartition(":")[2]}
    metrics = {
        "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Bucketcast"),
        "Dimensions": [[*dimensions]],
        "Metrics": [{"Name": limits.OLDEST_METRIC}],
    }
    header = {"Timestamp": round(time() * 1_000), "CloudWatchMetrics": [metrics]}
    oldest = max(message.term.age for message in messages)
    line = {"_aws": header, **dimensions, limits.OLDEST_METRIC: oldest // 1_000}
    sys.stdout.write(f"{json.dumps(line)}\n")


def _wait(queue_arn: str, messages: Sequence[_Message], context: Any) -> Sequence[_Message]:
    """Let messages wait, longer each time; send those again that SQS would soon move or drop.

    Return the others. They may wait in flight: nothing else of their queue is received.
    """
    import boto3  # noqa: PLC0415 - it takes a while, and is not needed if all is well
    from botocore.config import Config  # noqa: PLC0415 - as boto3

    sqs = boto3.client("sqs", config=Config(**limits.AWS_CALL_LIMITS))
    *_, account, name = queue_arn.split(":")
    url = f"{sqs.meta.endpoint_url}/{account}/{name}"
    sent: set[str] = set()
    # With less time nothing is sent again: it would be there twice if the function ended first.
    has_time = context.get_remaining_time_in_millis() > limits.SETTLE_SECONDS * 1_000
    if has_time and not policy.keeps_order(name):
        # A message that is tried once is lost if it was received more often than a few times.
        receives = 2 if name.endswith(_ONCE) else limits.MAX_RECEIVES
        due = [
            message
            for message in messages
            if message.term.needs_renewal or message.term.receives >= receives
        ]
        sent = _send_again(sqs, url, due)
    kept = [message for message in messages if message.record["messageId"] not in sent]
    for start in range(0, len(kept), limits.SQS_CALL_MESSAGES):
        entries: Any = [
            {
                "Id": str(index),
                "ReceiptHandle": message.record["receiptHandle"],
                "VisibilityTimeout": message.term.recheck_seconds,
            }
            for index, message in enumerate(kept[start : start + limits.SQS_CALL_MESSAGES])
        ]
        try:
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        except Exception:  # they come back at the queue's own pace
            logging.getLogger().exception("messages could not be postponed")
    return kept


def _send_again(sqs: "SQSClient", url: str, messages: Sequence[_Message]) -> set[str]:
    """Send messages again as they are; return the ids of those that SQS took."""
    sizes = [len(message.record["body"].encode()) + _ATTRIBUTES for message in messages]
    sent: set[str] = set()
    for indexes in policy.batches([min(size, limits.MESSAGE_BYTES) for size in sizes]):
        entries: Any = [_entry(index, messages[index]) for index in indexes]
        try:
            response = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        except Exception:  # the messages come back at their own pace
            logging.getLogger().exception("SQS did not take messages")
            continue
        for entry in response.get("Successful", ()):
            sent.add(messages[int(entry["Id"])].record["messageId"])
    return sent


def _entry(index: int, message: _Message) -> dict[str, Any]:
    history = {"DataType": "String", "StringValue": message.term.waiting_history.json}
    return {
        "Id": str(index),
        "MessageBody": message.record["body"],
        "DelaySeconds": message.term.recheck_seconds,
        "MessageAttributes": {policy.ATTRIBUTE: history},
    }


def _load() -> Handler:
    """Return the real handler; what it is made of stays, and is not searched for garbage."""
    module = os.environ["BUCKETCAST_HANDLER"]
    gc.disable()
    try:
        handler: Handler = import_module(module).handler
    finally:
        gc.freeze()
        gc.enable()
    return handler


handler = start(_load)
