"""An AWS account of moto with a stack for dynamic targets; calls in it can be killed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3

from bucketcast.deployment import DynamicSetup
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.state.dynamic_targets import Table
from bucketcast.topics.aws.destination_cache import DestinationCache
from bucketcast.topics.aws.table import TopicTable
from tests.unit.moto_aws import ACCOUNT, REGION

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
_TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})


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
def _clients() -> tuple[_Watch, dict[str, Any]]:
    session = boto3.Session("testing", "testing", region_name=REGION)
    names: Any = ("sqs", "dynamodb", "lambda", "secretsmanager", "cloudwatch", "iam")
    watch, clients = _Watch(), {name: session.client(name) for name in names}
    for client in clients.values():
        client.meta.events.register("before-call", watch.count)
    return watch, clients


class Account:
    """The clients, the clock, and the resources beside the table."""

    def __init__(self, table: str) -> None:
        self._watch, clients = _clients()
        self.sqs, self.dynamodb = clients["sqs"], clients["dynamodb"]
        self.functions, self.secrets = clients["lambda"], clients["secretsmanager"]
        self.cloudwatch = clients["cloudwatch"]
        self.now = 1_800_000_000.0
        self.table_name = table
        self.table = Table(table, self.dynamodb)
        make_functions(clients["iam"], self.functions)

    @property
    def calls(self) -> list[str]:
        return self._watch.calls

    def targets(self, setup: DynamicSetup = DYNAMIC, **more: Any) -> DynamicTargets:
        resources = Resources(setup, self.sqs, self.functions, self.secrets, timeout=0)
        alarms = Alarms(self.cloudwatch, "Bucketcast", TOPIC)
        more = {"timeout": 0.0, "clock": lambda: self.now, **more}
        return DynamicTargets(setup, self.table, resources, alarms, **more)

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


def make_functions(iam: Any, functions: Any) -> None:
    """Create the functions of the stack, which do nothing."""
    role = iam.create_role(RoleName="made", AssumeRolePolicyDocument=_TRUST)["Role"]["Arn"]
    for name in DYNAMIC.functions.values():
        functions.create_function(
            FunctionName=name,
            Role=role,
            Handler="x.y",
            Runtime="python3.13",
            Code={"ZipFile": b"x"},
        )
