"""What Lambda calls first in the functions of queues: their handler, or a wait until there is one.

A function that fails before it has a handler (a package or layer that is missing, a variable that
cannot be read) leaves its messages to SQS. That counts each receive, and after a thousand, within a
day or two, it moves them to the dead letters without a reason. So this imports nothing but what
Python and Lambda bring.
"""

import json
import logging
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]

# The names and figures are those of `bucketcast`, which a test compares: it may be what is missing.
RENEW_AFTER: Final = 500
MAX_RECEIVES: Final = 1_000
LONGEST_PAUSE: Final = 1_200
LAST_CALL: Final = 13.5 * 86_400
OLDEST: Final = "OldestEventAge"
ONCE: Final = "-once"
PREFIX: Final = "bucketcast-"
_ONCE_PAUSE: Final = 60
_LONGEST_SPACING: Final = 12 * 3_600
_SPARE_MS: Final = 5_000
"""With less left nothing is sent again: it would be there twice if the function ended first."""
_BATCH: Final = 10
LIMITS: Final[Any] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}


def start(load: Callable[[], Handler]) -> Handler:
    """Return the handler that `load` makes, or one that lets messages wait and raises its error."""
    try:
        return load()
    except Exception as error:
        failure = error
        logging.getLogger().exception(
            "the function cannot start: messages wait until this is fixed"
        )
    begun = failure.__traceback__

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        records = event.get("Records") or ()
        _say_age(records)
        stay = _wait(records, context)
        if len(stay) < len(records):
            return {"batchItemFailures": [{"itemIdentifier": one["messageId"]} for one in stay]}
        # Lambda counts it as an error. The traceback of each call would be added to those
        # of all before, and would keep their messages in memory.
        raise failure.with_traceback(begun)

    return handler


def _say_age(records: Sequence[Mapping[str, Any]]) -> None:
    """Write how long the oldest message has waited, for the alarm that looks at it."""
    if not records:
        return
    queue = {"queue": records[0]["eventSourceARN"].rpartition(":")[2]}
    described = {
        "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Bucketcast"),
        "Dimensions": [[*queue]],
        "Metrics": [{"Name": OLDEST}],
    }
    about = {"Timestamp": round(time() * 1_000), "CloudWatchMetrics": [described]}
    line = {"_aws": about, **queue, OLDEST: round(max(map(_age, records)))}
    sys.stdout.write(f"{json.dumps(line)}\n")


def _wait(records: Sequence[Mapping[str, Any]], context: Any) -> Sequence[Mapping[str, Any]]:
    """Let messages wait, longer each time; send those again that SQS would soon move or drop.

    Return the others. In a FIFO queue, where what is sent again would be last, their receives are
    spread over their time instead.
    """
    if not records:
        return ()
    import boto3  # noqa: PLC0415 - it takes a while, and is not needed if all is well
    from botocore.config import Config  # noqa: PLC0415 - as boto3

    sqs = boto3.client("sqs", config=Config(**LIMITS))
    *_, account, name = records[0]["eventSourceARN"].split(":")
    url = f"{sqs.meta.endpoint_url}/{account}/{name}"
    gone: set[str] = set()
    if not name.endswith(".fifo") and context.get_remaining_time_in_millis() > _SPARE_MS:
        expiring = [one for one in records if _needs_renewal(one, tried_once=name.endswith(ONCE))]
        gone = _sent_again(sqs, url, expiring, _ONCE_PAUSE if name.endswith(ONCE) else 0)
    stay = [one for one in records if one["messageId"] not in gone]
    for some in _batches(stay):
        entries: Any = [
            {
                "Id": str(index),
                "ReceiptHandle": one["receiptHandle"],
                "VisibilityTimeout": _pause(one, in_order=name.endswith(".fifo")),
            }
            for index, one in enumerate(some)
        ]
        try:
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        except Exception:  # they come back at the queue's own pace
            logging.getLogger().exception("messages could not be postponed")
    return stay


def _needs_renewal(record: Mapping[str, Any], *, tried_once: bool) -> bool:
    """Return whether SQS would soon move or drop it; what is tried once is lost after three."""
    receives = _receives(record)
    return receives >= RENEW_AFTER or _age(record) > LAST_CALL or (tried_once and receives > 1)


def _pause(record: Mapping[str, Any], *, in_order: bool) -> int:
    receives = _receives(record)
    longest = min(2.0 ** min(receives - 1, 11), LONGEST_PAUSE)
    wait = longest * random.uniform(0.5, 1)  # noqa: S311 - spread, not secrecy
    if in_order and receives >= RENEW_AFTER:
        left = max(0.0, LAST_CALL - _age(record))
        wait = max(wait, min(left / max(1, MAX_RECEIVES - receives - 1), _LONGEST_SPACING))
    return max(1, round(wait))


def _sent_again(
    sqs: "SQSClient", url: str, records: Sequence[Mapping[str, Any]], delay: int
) -> set[str]:
    """Send messages again as they are; return the ids of those that SQS took."""
    taken: set[str] = set()
    for some in _batches(records):
        entries: Any = [
            {
                "Id": str(index),
                "MessageBody": one["body"],
                "DelaySeconds": delay,
                "MessageAttributes": _attributes(one),
            }
            for index, one in enumerate(some)
        ]
        try:
            answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        except Exception:  # the messages come back at their own pace
            logging.getLogger().exception("SQS did not take messages")
            continue
        taken |= {some[int(each["Id"])]["messageId"] for each in answer.get("Successful", ())}
    return taken


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message of the ingress queue carries, and when the first of them was sent."""
    kept = {
        name: one["stringValue"]
        for name, one in (record.get("messageAttributes") or {}).items()
        if name.startswith(PREFIX) and one.get("stringValue")
    }
    texts = {f"{PREFIX}created": record["attributes"]["SentTimestamp"]} | kept
    return {name: {"DataType": "String", "StringValue": text} for name, text in texts.items()}


def _batches(records: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Return ten at a time; messages that are large go alone, since a call takes 1 MiB."""
    batches: list[list[Mapping[str, Any]]] = []
    room = 0
    for one in records:
        size = len(one["body"].encode()) + 1_000
        if not batches or len(batches[-1]) == _BATCH or size > room:
            batches.append([])
            room = 1_048_576
        batches[-1].append(one)
        room -= size
    return list(batches)


def _receives(record: Mapping[str, Any]) -> int:
    return int(record["attributes"]["ApproximateReceiveCount"])


def _age(record: Mapping[str, Any]) -> float:
    return time() - int(record["attributes"]["SentTimestamp"]) / 1_000


handler = start(lambda: import_module(os.environ["BUCKETCAST_HANDLER"]).handler)
