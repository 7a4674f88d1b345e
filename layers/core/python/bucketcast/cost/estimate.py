"""Estimate the cost of a configuration before it is deployed.

Lambda's time for a batch is an assumption, as it depends on the target; the rest follows from
`calls` and from the resources of the stack.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bucketcast.config.model import Deployment
from bucketcast.config.pipeline import ScanConfig
from bucketcast.config.target import TargetConfig
from bucketcast.cost import calls
from bucketcast.cost.bill import DAYS_A_MONTH, Bill, Line
from bucketcast.cost.prices import prices
from bucketcast.delivery import alarms
from bucketcast.limits import INGEST_MEMORY_MB, LISTEN_MEMORY_MB, LISTEN_SECONDS
from bucketcast.state.counters import STEP_SECONDS
from bucketcast.topics.address import KINDS

CORE_SECONDS: Final = {"ingest": 26e-6, "pack": 3e-6, "webhook": 19.5e-6}
"""CPU of an event on a core, by `benchmarks.side_by_side`: to receive and match it, to send it to a
target's queue, and from there to a webhook, which takes most."""
SLOWER: Final = 2 * 1_769 / INGEST_MEMORY_MB
"""A vCPU is taken for half of such a core, and a function has one with 1,769 MB:
https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html"""
INGEST_SECONDS: Final = (0.015, (CORE_SECONDS["ingest"] + CORE_SECONDS["pack"]) * SLOWER)
DISPATCH_SECONDS: Final = (0.015, CORE_SECONDS["webhook"] * SLOWER)
"""A batch's own time, which is an assumption, and that of each of its events, in functions, without
the target's answer."""
INGEST_BUSY: Final = calls.RECEIVE_SECONDS + INGEST_SECONDS[0]
"""The seconds that a poller is busy with a batch of ingest."""
PARALLEL: Final = {"webhook": 32}
"""Kinds that take one request for each event, and how many are in flight at once."""
RULE_READS: Final = 2
"""Items that ingest reads consistently for a batch."""
BREAKER_READS: Final = 0.5
"""Read units of a batch of a target: one item, eventually consistent."""
LOG_BYTES: Final = {"ingest": (373, 27), "dispatch": (404, 24)}
"""Bytes per batch and per event, as `benchmarks.price` counts them: a line of metrics and one for
`bucketcast trace`, and the 26 bytes that are billed for each."""
METRICS: Final = 2
"""Metrics that ingest, and each target, writes while nothing fails."""
ALARMS: Final = sum(
    "MetricStat" in metric
    for alarm in alarms.queue_alarms("", "", "", "", "")
    for metric in alarm["Metrics"]
)
"""Metrics that a queue's alarms look at: each is billed as an alarm."""
LISTEN_WRITES: Final = 9
"""Write units of a listener's call: its lease, and two transactions of two items each."""
LISTEN_READS: Final = 7
"""Read units of such a call: of its user, its bucket, and twice of all listeners; and of all users
every four seconds, to confirm it."""
LISTEN_REQUESTS: Final = 2
"""Requests of SQS of such a call: for its queue, and for the ingress queue's policy. And of S3: if
the bucket exists, and is attached."""
_GB: Final = 1_000_000_000
_SECRET_CACHE_SECONDS: Final = 300
_RECORD_BYTES: Final = 900
_SCAN_MINUTES: Final = 10
"""A report of a billion versions takes six on Glue, by `benchmarks/README.md`."""
_DPUS: Final = {"1X": 1, "2X": 2, "4X": 4, "8X": 8}
_RATE: Final = re.compile(r"rate\(([0-9]+) (minute|hour|day)s?\)")
_MINUTES: Final = {"minute": 1, "hour": 60, "day": 1_440}
_TOPIC_KINDS: Final = frozenset(KINDS.values())


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load of a deployment.

    `shares` are the parts of all events that targets get, by ARN; without one a target gets all.
    `target_seconds` is the time that a target takes to answer, and `reads_a_day` the calls that a
    trail logs.
    """

    events_a_day: float
    shares: Mapping[str, float] = field(default_factory=dict)
    target_seconds: float = 0.05
    reads_a_day: float = 0.0


def estimate(config: Deployment, load: Load) -> Bill:
    """Return the bill of a month."""
    events = load.events_a_day * DAYS_A_MONTH
    lines = [
        *_sources(config, load, events),
        *_ingest(config, load, events),
        *(line for target in config.targets for line in _target(config, target, load, events)),
        *_jobs(config),
        *_listener(config),
        *_fixed(config),
    ]
    return Bill([line for line in lines if line.units], events, prices())


def at_once(config: Deployment, load: Load) -> float:
    """Return the number of events that ingest gets at once."""
    rate = load.events_a_day / 86_400
    return calls.at_once(rate, config.ingest_window, INGEST_BUSY)


def _sources(config: Deployment, load: Load, events: float) -> Iterator[Line]:
    buckets = [bucket.via for bucket in config.buckets.values()] or ["sqs"]
    bridged = events * (len(buckets) - buckets.count("sqs")) / len(buckets)
    reads = load.reads_a_day * DAYS_A_MONTH
    units = calls.billed(_RECORD_BYTES)
    yield Line("EventBridge", "events of buckets", "", bridged * units, "eventbridge")
    yield Line("CloudTrail", "calls logged for access events", "", reads, "cloudtrail")
    sent = (events + reads) * units
    yield Line("SQS", "sent to the ingress queue by S3", "", sent, "sqs")


def _ingest(config: Deployment, load: Load, events: float) -> Iterator[Line]:
    together = at_once(config, load)
    batches = events / together
    seconds = batches * INGEST_SECONDS[0] + events * INGEST_SECONDS[1]
    logged = batches * LOG_BYTES["ingest"][0] + events * LOG_BYTES["ingest"][1]
    rate = load.events_a_day / 86_400
    received = calls.received_together(rate, config.ingest_window, INGEST_BUSY)
    reads = events / received * calls.billed(received * _RECORD_BYTES)
    reads += events / calls.deleted_together(together)
    yield Line("SQS", "received and deleted by ingest", "", reads, "sqs")
    yield Line("Lambda", "calls of ingest", "", batches, "lambda_calls")
    yield Line("Lambda", "time of ingest", "", seconds * INGEST_MEMORY_MB / 1_024, "lambda_seconds")
    yield Line("DynamoDB", "reads of rules", "", batches * RULE_READS, "dynamodb_reads")
    yield Line("CloudWatch", "logs of ingest", "", logged / _GB, "logs")
    if config.facts.buckets:
        yield Line("S3", "reads of object facts, at most", "", 2 * events, "s3_reads")


def _target(config: Deployment, target: TargetConfig, load: Load, events: float) -> Iterator[Line]:
    arn = str(target.arn)
    share = load.shares.get(arn, 1.0)
    target_events = events * share
    together = at_once(config, load)
    # Ingest sends one message for a batch.
    messages = min(together * share, 1.0) / together * events
    window = target.deploy.window
    rate = messages / DAYS_A_MONTH / 86_400
    waiting = calls.at_once(rate, window)
    price = "sqs_fifo" if config.sync_events else "sqs"
    size = max(1.0, together * share) * _RECORD_BYTES / calls.COMPRESSION
    received = calls.received_together(rate, window)
    queue = messages * calls.billed(size) + messages / calls.deleted_together(waiting)
    queue += messages / received * calls.billed(received * size)
    batches = messages / waiting
    if config.sync_events:
        # One event at a time, in a message of its own.
        queue, batches = 3 * target_events, target_events
    a_batch = target_events / batches if batches else 0.0
    answers = -(-a_batch // PARALLEL[target.kind]) if target.kind in PARALLEL else 1.0
    seconds = DISPATCH_SECONDS[0] + a_batch * DISPATCH_SECONDS[1] + answers * load.target_seconds
    logged = batches * LOG_BYTES["dispatch"][0] + target_events * LOG_BYTES["dispatch"][1]
    memory = target.deploy.memory / 1_024
    yield Line("SQS", "its queue", arn, queue, price)
    yield Line("Lambda", "calls", arn, batches, "lambda_calls")
    yield Line("Lambda", "time", arn, batches * seconds * memory, "lambda_seconds")
    yield Line("DynamoDB", "reads of its breaker", arn, batches * BREAKER_READS, "dynamodb_reads")
    # An instance of the function writes what it has counted once a minute; one is assumed.
    steps = min(batches, DAYS_A_MONTH * 86_400 / STEP_SECONDS)
    yield Line("DynamoDB", "counters", arn, steps, "dynamodb_writes")
    yield Line("CloudWatch", "logs", arn, logged / _GB, "logs")
    secrets = len(target.secret_names)
    # Each instance of the function reads a secret again after five minutes; one is assumed.
    read = min(batches, DAYS_A_MONTH * 86_400 / _SECRET_CACHE_SECONDS) * secrets
    yield Line("Secrets Manager", "reads", arn, read, "secret_reads")
    yield Line("Secrets Manager", "secrets", arn, secrets, "secrets", fixed=True)
    yield Line("CloudWatch", "alarms", arn, ALARMS, "alarms", fixed=True)
    yield Line("CloudWatch", "metrics", arn, METRICS, "metrics", fixed=True)
    idle = calls.empty_receives(DAYS_A_MONTH)
    yield Line("SQS", "polls of its queue when idle", arn, idle, price, fixed=True)


def _listener(config: Deployment) -> Iterator[Line]:
    """Yield the costs of one listener that reconnects at once, as minio-py does."""
    if not config.gateway.listen_concurrency:
        return
    seconds = DAYS_A_MONTH * 86_400
    polls = seconds / LISTEN_SECONDS
    memory = LISTEN_MEMORY_MB / 1_024
    yield Line("Lambda", "calls of listeners", "", polls, "lambda_calls", fixed=True)
    yield Line("Lambda", "time of listeners", "", seconds * memory, "lambda_seconds", fixed=True)
    writes = polls * LISTEN_WRITES
    yield Line("DynamoDB", "leases of listeners", "", writes, "dynamodb_writes", fixed=True)
    reads = polls * LISTEN_READS
    yield Line("DynamoDB", "reads of listeners", "", reads, "dynamodb_reads", fixed=True)
    yield Line("S3", "buckets of listeners", "", polls * LISTEN_REQUESTS, "s3_reads", fixed=True)
    yield Line("SQS", "queues of listeners", "", polls * LISTEN_REQUESTS, "sqs", fixed=True)
    yield Line("Secrets Manager", "logins of listeners", "", polls, "secret_reads", fixed=True)


def _jobs(config: Deployment) -> Iterator[Line]:
    if config.pipeline is None:
        return
    price = "glue_flex" if config.pipeline.execution_class == "flex" else "glue"
    dpus = config.pipeline.workers * _DPUS[config.pipeline.worker_type.partition(".")[2]]
    for bucket, scan in config.scans.items():
        hours = runs_a_month(scan) * _SCAN_MINUTES / 60 * dpus
        yield Line("Glue", f"scans of {bucket}", "", hours, price, fixed=True)


def runs_a_month(scan: ScanConfig) -> float:
    """Return the scans of a month: daily ones, unless its schedule has a rate."""
    match = _RATE.fullmatch(scan.schedule)
    return DAYS_A_MONTH * 1_440 / (int(match[1]) * _MINUTES[match[2]]) if match else DAYS_A_MONTH


def _fixed(config: Deployment) -> Iterator[Line]:
    """Yield the costs that arise without any event or target."""
    watched = ALARMS + 1 + (config.pipeline is not None)  # one looks at the buckets
    idle = calls.empty_receives(DAYS_A_MONTH)
    shared = len(_TOPIC_KINDS & set(config.dynamic_targets.kinds))
    yield Line("SQS", "polls of the ingress queue when idle", "", idle, "sqs", fixed=True)
    yield Line("SQS", "polls of dynamic queues", "", idle * shared, "sqs", fixed=True)
    yield Line("CloudWatch", "alarms", "", watched, "alarms", fixed=True)
    yield Line("CloudWatch", "metrics", "", METRICS, "metrics", fixed=True)
    yield Line("CloudWatch", "dashboard", "", int(config.dashboard), "dashboards", fixed=True)
    if config.alarms and config.alarms.email:
        yield Line("KMS", "key of the alarms' topic", "", 1, "kms_keys", fixed=True)
