"""An AWS account of moto with a stack for dynamic targets; calls in it can be killed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from msgspec.structs import asdict

from bucketcast.deployment import DynamicSetup
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.state.dynamic_targets import Table
from bucketcast.topics.aws.destination_cache import DestinationCache
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.aws.topics import Topics
from tests.unit.moto_aws import ACCOUNT, REGION, MotoAws, client, make_function

TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:pages"
DYNAMIC = DynamicSetup(
    functions={
        "webhook": "Bucketcast-dynamic-webhook",
        "redis": "Bucketcast-dynamic-redis",
        "postgres": "Bucketcast-dynamic-postgres",
    },
    queues=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}",
    queue_arns=f"arn:aws:sqs:{REGION}:{ACCOUNT}",
    prefix="Bucketcast-dynamic-",
    secrets="bucketcast/Bucketcast/dynamic/",
    timeout=60,
    visibility=360,
)


class Killed(BaseException):
    """The process ended here: no cleanup runs."""


class _Watch:
    """Counts the calls of the clients, and ends the process before one of them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.end_before = -1

    def count(self, model: Any, **_: Any) -> None:
        if self.end_before == len(self.calls):
            raise Killed
        self.calls.append(model.name)


@cache
def _watch() -> _Watch:
    watch = _Watch()
    for name in ("sqs", "dynamodb", "lambda", "secretsmanager", "cloudwatch"):
        client(name).meta.events.register("before-call", watch.count)
    return watch


class Account:
    """The clients, the clock, and the resources beside the table."""

    def __init__(self, table: str) -> None:
        self._watch = _watch()
        self.sqs, self.dynamodb = client("sqs"), client("dynamodb")
        self.functions, self.secrets = client("lambda"), client("secretsmanager")
        self.cloudwatch = client("cloudwatch")
        self.now = 1_800_000_000.0
        self.table_name = table
        self.table = Table(table, self.dynamodb)
        _make_functions()

    @property
    def calls(self) -> list[str]:
        return self._watch.calls

    def _resources(self, setup: DynamicSetup) -> Resources:
        return Resources(setup, self.sqs, self.functions, self.secrets, timeout=0)

    def topics(self, setup: DynamicSetup = DYNAMIC) -> Topics:
        items = TopicTable(self.table_name, self.dynamodb)
        return Topics(items, setup, self.targets(setup), self._resources(setup), lambda: self.now)

    def targets(self, setup: DynamicSetup = DYNAMIC, **more: Any) -> DynamicTargets:
        alarms = Alarms(self.cloudwatch, "Bucketcast", TOPIC)
        more = {"timeout": 0.0, "clock": lambda: self.now, **more}
        return DynamicTargets(setup, self.table, self._resources(setup), alarms, **more)

    def destination_cache(self) -> DestinationCache:
        """Ingest's cache of queues."""
        items = TopicTable(self.table_name, self.dynamodb)
        return DestinationCache(self.table, items, DYNAMIC.prefix)

    @contextmanager
    def killed(self, before: int) -> Iterator[None]:
        """Within, end the process before this call to AWS, counted from 0."""
        self._watch.calls, self._watch.end_before = [], before
        try:
            yield
        finally:
            self._watch.end_before = -1

    def fill(self, *queues: str) -> None:
        """Put a message into each queue."""
        for queue in queues:
            self.sqs.send_message(QueueUrl=DYNAMIC.url(queue), MessageBody="x")

    def queues(self) -> set[str]:
        urls = self.sqs.list_queues().get("QueueUrls", [])
        return {url.rpartition("/")[2] for url in urls}

    def mapped(self) -> set[str]:
        """The names of the queues with an event source mapping."""
        mappings = self.functions.list_event_source_mappings()["EventSourceMappings"]
        return {mapping["EventSourceArn"].rpartition(":")[2] for mapping in mappings}

    def alarms(self) -> dict[str, dict[str, Any]]:
        """The alarms by name."""
        alarms: Any = self.cloudwatch.describe_alarms()["MetricAlarms"]
        return {alarm["AlarmName"]: alarm for alarm in alarms}

    def secret_texts(self) -> dict[str, Any]:
        names = [secret["Name"] for secret in self.secrets.list_secrets()["SecretList"]]
        return {
            name: json.loads(self.secrets.get_secret_value(SecretId=name)["SecretString"])
            for name in names
        }


def add_dynamic_targets(aws: MotoAws, **more: Any) -> None:
    """Let a stack take dynamic targets; `more` replaces parts of what it says of them."""
    aws.outputs["DynamicTargetsOutput"] = json.dumps({**asdict(DYNAMIC), **more})
    _make_functions()


def _make_functions() -> None:
    for name in DYNAMIC.functions.values():
        make_function(name)
