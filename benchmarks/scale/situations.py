"""What is not a steady rate: a backlog, and many rules, buckets, targets and listeners."""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from benchmarks.scale import constants as c
from benchmarks.scale.model import Case, flow
from bucketcast.cost.calls import POLLERS
from bucketcast.cost.prices import prices
from bucketcast.limits import (
    BATCH_MESSAGES,
    LOOKS_A_SECOND,
    MEMORY_MB,
    MESSAGE_EVENTS,
    SENDS_AT_ONCE,
    SQS_CALL_MESSAGES,
    TARGET_CONCURRENCY,
)

BACKLOG: Final = 100_000_000
"""The events of a day, at 1,157 a second."""
RATE: Final = BACKLOG / 86_400
MILLION: Final = 1_000_000


class Backlog(NamedTuple):
    """Where a backlog waits, executions of the function, hours until it is gone, and dollars."""

    where: str
    executions: int
    hours: float
    dollars: float


def backlogs() -> Iterator[Backlog]:
    """Yield how long 100 million events take beside new ones."""
    ingest = BACKLOG * (c.INGEST_EVENT + c.PACK_EVENT)
    for window, executions in ((0, POLLERS), (1, POLLERS), (1, 50)):
        case = Case(RATE, 1, window)
        carried = RATE / flow(case, ingest=executions).ingest.full
        yield _backlog(f"ingress queue, {case.profile}", executions, carried, BACKLOG, ingest)
    dispatch = BACKLOG * (c.SEND_EVENT + c.ANSWER / c.AT_ONCE)
    for executions in (TARGET_CONCURRENCY, 50):
        # What waited shares messages in any profile, and comes back by and by.
        carried = RATE / flow(Case(RATE, 1, 1), dispatch=executions).dispatch.full
        carried = min(carried, RATE + LOOKS_A_SECOND * MESSAGE_EVENTS)
        messages = BACKLOG / MESSAGE_EVENTS
        yield _backlog("queue of a target", executions, carried, messages, dispatch)


def _backlog(
    where: str, executions: int, carried: float, messages: float, seconds: float
) -> Backlog:
    known = prices()
    dollars = known.of("sqs", 2 * messages / SQS_CALL_MESSAGES)
    dollars += known.of("lambda_seconds", seconds * MEMORY_MB / 1_024)
    return Backlog(where, executions, BACKLOG / (carried - RATE) / 3_600, dollars)


class Cost(NamedTuple):
    """What is many, and what each event costs more by it."""

    what: str
    reads: float
    milliseconds: float
    dollars: float


def costs() -> Iterator[Cost]:
    """Yield what rules, buckets, targets and listeners cost an event more, 10 in a batch.

    `reads` are units of DynamoDB a batch, `milliseconds` of ingest a batch, and dollars those of a
    million events.
    """
    batches = MILLION / BATCH_MESSAGES
    known = prices()

    def cost(what: str, reads: float, seconds: float, requests: float) -> Cost:
        dollars = known.of("dynamodb_reads", reads * batches)
        dollars += known.of("lambda_seconds", seconds * batches / 2)
        return Cost(what, reads, seconds * 1_000, dollars + known.of("sqs", requests * batches))

    matching = BATCH_MESSAGES * c.MATCH_EVENT
    yield cost("10,000 rules in a bucket", 0, matching, 0)
    yield cost("1,000 buckets", BATCH_MESSAGES - 1, 0, 0)
    # Each event goes to another target: a message for each, which is sent, received and deleted.
    rounds = math.ceil(BATCH_MESSAGES / SENDS_AT_ONCE) - 1
    yield cost("500 dynamic targets", 1, c.CALL + rounds * c.CALL, 3 * (BATCH_MESSAGES - 1))
    rounds = math.ceil(50 / SENDS_AT_ONCE)
    packed = 50 * BATCH_MESSAGES * c.PACK_EVENT
    yield cost("50 listeners of all events", 0, rounds * c.CALL + packed, 50 * 3)
