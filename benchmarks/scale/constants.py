"""The figures that model and simulation share, each with its source.

Those of `bucketcast cost` (calls of 10 ms, 15 ms a batch, 50 ms for a webhook's answer, 32 requests
at once) are assumptions, named there; no figure was measured on AWS.
"""

from typing import Final

from bucketcast.cost.calls import RECEIVE_SECONDS
from bucketcast.cost.estimate import (
    CORE_SECONDS,
    DISPATCH_SECONDS,
    INGEST_SECONDS,
    PARALLEL,
    SLOWER,
    Load,
)
from bucketcast.limits import SETTLE_SECONDS, TIMEOUT_SECONDS

# AWS's, all of standard queues
POLLERS_A_SECOND: Final = 5
"""300 a minute are added while messages wait, to the five that a queue begins with:
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html"""
MAPPING_CONCURRENCY: Final = 1_000
"""The most of `max_concurrency`, on the same page."""
ACCOUNT_CONCURRENCY: Final = 1_000
"""Executions at once of an account; more on request, and a new account may have 10:
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""
IN_FLIGHT: Final = 120_000
"""Messages of a queue that were received and are not deleted:
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html"""
PARTITION_READS: Final = 3_000
"""Read units a second of a partition, and so of an item:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html"""
PREFIX_PUTS: Final = 3_500
"""PUTs a second of a partitioned prefix, of which a bucket may have any number:
https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html"""

# Ours, seconds
CALL: Final = RECEIVE_SECONDS
"""One call of SQS or DynamoDB."""
INGEST_BATCH, DISPATCH_BATCH = INGEST_SECONDS[0], DISPATCH_SECONDS[0]
"""Of a batch: ingest reads the rules and sends to one target, dispatch reads its breaker."""
INGEST_EVENT: Final = CORE_SECONDS["ingest"] * SLOWER
MATCH_EVENT: Final = 1e-6 * SLOWER
"""More of an event with 10,000 rules than with one, by `benchmarks.ingest`."""
PACK_EVENT: Final = CORE_SECONDS["pack"] * SLOWER
SEND_EVENT: Final = DISPATCH_SECONDS[1]
ANSWER: Final = Load(events_a_day=1).target_seconds
AT_ONCE: Final = PARALLEL["webhook"]
TARGET_EVENTS: Final = int((TIMEOUT_SECONDS - SETTLE_SECONDS) / (SEND_EVENT + ANSWER / AT_ONCE))
"""Events for which a call of dispatch has time."""
VARIES: Final = 0.25
"""Calls of equal work take up to this part more or less: an assumption. If all took the same time,
pollers would fall into step and work one after the other in bursts."""
