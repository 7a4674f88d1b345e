"""What Lambda calls first in the functions of queues: their handler, or a wait until there is one.

A function that fails before it has a handler (a package or layer that is missing, a variable that
cannot be read) leaves its messages to SQS. That counts each receive, and after a thousand, within a
day or two, it moves them to the dead letters without a reason. So this imports nothing but what
Python and Lambda bring, and the policy of queues, of which a bundle has a spare copy.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final

if not find_spec("bucketcast"):  # the layer is missing: the bundle has a copy of these two
    sys.path.append(str(Path(__file__).parent / "spare"))

from bucketcast import limits
from bucketcast.delivery import policy

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]

_ATTRIBUTES: Final = 8_192
"""Bytes that the history of a message takes at most."""
_ONCE: Final = "-once"
_SPARE_MS: Final = 5_000
"""With less left nothing is sent again: it would be there twice if the function ended first."""


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
        "Metrics": [{"Name": limits.OLDEST}],
    }
    about = {"Timestamp": round(time() * 1_000), "CloudWatchMetrics": [described]}
    oldest = max(_term(one, in_order=False).waited for one in records)
    line = {"_aws": about, **queue, limits.OLDEST: oldest // 1_000}
    sys.stdout.write(f"{json.dumps(line)}\n")


def _wait(records: Sequence[Mapping[str, Any]], context: Any) -> Sequence[Mapping[str, Any]]:
    """Let messages wait, longer each time; send those again that SQS would soon move or drop.

    Return the others. They may wait in flight: nobody else's wait for them.
    """
    if not records:
        return ()
    import boto3  # noqa: PLC0415 - it takes a while, and is not needed if all is well
    from botocore.config import Config  # noqa: PLC0415 - as boto3

    sqs = boto3.client("sqs", config=Config(**limits.CALLS))
    *_, account, name = records[0]["eventSourceARN"].split(":")
    url = f"{sqs.meta.endpoint_url}/{account}/{name}"
    in_order = policy.keeps_order(name)
    terms = {one["messageId"]: _term(one, in_order=in_order) for one in records}
    gone: set[str] = set()
    if not in_order and context.get_remaining_time_in_millis() > _SPARE_MS:
        # What is tried once is lost if it was received more often than a few times.
        least = 2 if name.endswith(_ONCE) else limits.MAX_RECEIVES
        due = [one for one in records if _is_due(terms[one["messageId"]], least)]
        gone = _sent_again(sqs, url, due, terms)
    stay = [one for one in records if one["messageId"] not in gone]
    for some in _batches(stay):
        entries: Any = [
            {
                "Id": str(index),
                "ReceiptHandle": one["receiptHandle"],
                "VisibilityTimeout": terms[one["messageId"]].patience,
            }
            for index, one in enumerate(some)
        ]
        try:
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        except Exception:  # they come back at the queue's own pace
            logging.getLogger().exception("messages could not be postponed")
    return stay


def _is_due(term: policy.Term, receives: int) -> bool:
    return term.needs_renewal or term.receives >= receives


def _term(record: Mapping[str, Any], *, in_order: bool) -> policy.Term:
    """Return a record's term."""
    told = (record.get("messageAttributes") or {}).get(policy.ATTRIBUTE) or {}
    system = record["attributes"]
    return policy.Term(
        round(time() * 1_000),
        int(system["SentTimestamp"]),
        int(system["ApproximateReceiveCount"]),
        policy.History.read(told.get("stringValue") or ""),
        policy.Policy(in_order=in_order),
    )


def _sent_again(
    sqs: "SQSClient",
    url: str,
    records: Sequence[Mapping[str, Any]],
    terms: Mapping[str, policy.Term],
) -> set[str]:
    """Send messages again as they are; return the ids of those that SQS took."""
    taken: set[str] = set()
    for some in _batches(records):
        entries: Any = []
        for index, one in enumerate(some):
            term = terms[one["messageId"]]
            text = {"DataType": "String", "StringValue": term.waiting.text}
            entries.append(
                {
                    "Id": str(index),
                    "MessageBody": one["body"],
                    "DelaySeconds": term.patience,
                    "MessageAttributes": {policy.ATTRIBUTE: text},
                }
            )
        try:
            answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        except Exception:  # the messages come back at their own pace
            logging.getLogger().exception("SQS did not take messages")
            continue
        taken |= {some[int(each["Id"])]["messageId"] for each in answer.get("Successful", ())}
    return taken


def _batches(records: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Return ten at a time; messages that are large go alone, since a call takes 1 MiB."""
    batches: list[list[Mapping[str, Any]]] = []
    room = 0
    for one in records:
        size = len(one["body"].encode()) + _ATTRIBUTES
        if not batches or len(batches[-1]) == limits.TOGETHER or size > room:
            batches.append([])
            room = limits.MESSAGE_BYTES
        batches[-1].append(one)
        room -= size
    return list(batches)


handler = start(lambda: import_module(os.environ["BUCKETCAST_HANDLER"]).handler)
