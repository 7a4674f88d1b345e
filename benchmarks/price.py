"""The cost of events: the AWS calls and log bytes of the real handlers, counted, at AWS's prices.

The handlers run in `metered_stack`, whose clock is put forward between batches, so that 600 of them
are 600 seconds at one event a second. The calls of S3 and of Lambda's pollers are added, as by
`bucketcast cost`: a message for each event, a receive for each message and a delete for ten. How
long a batch takes on Lambda is assumed. One instance of each function runs.

Run: `python -m benchmarks.price`; it prints the counts of the handlers, and their prices.
"""

import json
import math
import os
import time
from collections import defaultdict
from typing import Final, NamedTuple

from benchmarks import events
from benchmarks.metered_stack import MeteredStack, metered_stack
from benchmarks.nginx import receiver
from bucketcast.cost import calls
from bucketcast.cost.estimate import DISPATCH_SECONDS, INGEST_SECONDS, PARALLEL, Load
from bucketcast.cost.prices import prices
from bucketcast.limits import MEMORY_MB, WINDOW_SECONDS
from tests.infra.resolved import ACCOUNT, REGION

BATCHES: Final = 600
GB: Final = 1_000_000_000
SERVICES: Final = ("SQS", "Lambda", "DynamoDB", "CloudWatch", "Secrets Manager")
SERVICE_OF_UNIT: Final = {
    "sqs": "SQS",
    "lambda_calls": "Lambda",
    "lambda_seconds": "Lambda",
    "dynamodb_reads": "DynamoDB",
    "dynamodb_writes": "DynamoDB",
    "logs": "CloudWatch",
    "secret_reads": "Secrets Manager",
}


class Case(NamedTuple):
    """Events a second, and the number that ingest gets at once."""

    profile: str
    rate: int
    together: int


CASES: Final = (
    Case("latency", 1, 1),
    Case("latency", 10, 1),
    Case("throughput", 100, round(calls.at_once(100, WINDOW_SECONDS))),
)


def measure(case: Case, endpoint: str) -> dict[str, float]:
    """Return the units that an event uses, by the names of prices, without the first batch."""
    with metered_stack(case.profile, endpoint) as stack:
        _send_batch(stack, case, 0)
        stack.units.clear()
        for number in range(BATCHES):
            stack.offset += case.together / case.rate
            _send_batch(stack, case, number * case.together)
    count = BATCHES * case.together
    units = defaultdict(float, {name: used / count for name, used in stack.units.items()})
    units["logs"] /= GB
    ingest = INGEST_SECONDS[0] / case.together + INGEST_SECONDS[1]
    rounds = math.ceil(case.together / PARALLEL["webhook"])
    dispatch = DISPATCH_SECONDS[0] + rounds * Load(events_a_day=1).target_seconds
    dispatch = dispatch / case.together + DISPATCH_SECONDS[1]
    units["lambda_seconds"] = (ingest + dispatch) * MEMORY_MB / 1_024
    units["sqs"] += 1  # S3's message
    return units


def _send_batch(stack: MeteredStack, case: Case, start: int) -> None:
    """Pass a batch of events through both functions."""
    now = str(round(time.time() * 1_000))
    stack.call(
        "ingest",
        "ingress",
        [
            {
                "messageId": str(number),
                "receiptHandle": str(number),
                "body": json.dumps({"Records": [events.record(number)]}, separators=(",", ":")),
                "attributes": {"SentTimestamp": now, "ApproximateReceiveCount": "1"},
                "messageAttributes": {},
            }
            for number in range(start, start + case.together)
        ],
    )
    batches = list(stack.receive("webhook-primary"))
    if not batches:
        raise RuntimeError("no rule matched")
    for messages in batches:
        stack.call("webhook-primary", "webhook-primary", messages)


def main() -> None:
    os.environ |= {
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "MOTO_ACCOUNT_ID": ACCOUNT,
    }
    known = prices()
    print("| a million events into one webhook | SQS calls | DynamoDB units | log bytes |", end="")
    print(*(f" {name}" for name in SERVICES), " **together** |", sep=" |")
    print("|---" * 10 + "|")
    with receiver() as settings:
        for case in CASES:
            units = measure(case, settings["endpoint"])
            dollars: defaultdict[str, float] = defaultdict(float)
            for name, used in units.items():
                dollars[SERVICE_OF_UNIT[name]] += known.of(name, used * 1_000_000)
            table = units["dynamodb_reads"] + units["dynamodb_writes"]
            print(
                f"| {case.profile}, {case.rate}/s",
                f"{units['sqs']:.2f}",
                f"{table:.2f}",
                f"{units['logs'] * GB:,.0f}",
                *(f"{dollars[name]:.2f}" for name in SERVICES),
                f"**${sum(dollars.values()):.2f}** |",
                sep=" | ",
            )


if __name__ == "__main__":
    main()
