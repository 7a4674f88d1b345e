"""An AWS account of moto with a stack for dynamic targets; calls in it can be killed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

from botocore.exceptions import ReadTimeoutError
from msgspec.structs import asdict

from bucketcast.aws.clients import Aws
from bucketcast.deployment import DynamicSetup
from bucketcast.destination import TopicArn
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import Topic
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.destination_cache import DestinationCache
from bucketcast.topics.aws.topics import DesiredTopic, Topics, topics_of
from tests.unit.moto_aws import DYNAMIC, TABLE, MotoAws, client, make_function


class Killed(BaseException):
    """The process ended here: no cleanup runs."""


class _Watch:
    """Counts the calls of the clients; ends the process before one, or loses its answer."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.end_before = self.lost = -1

    def count(self, model: Any, **_: Any) -> None:
        if self.end_before == len(self.calls):
            raise Killed
        self.calls.append(model.name)

    def lose(self, **_: Any) -> None:
        if self.lost == len(self.calls) - 1:
            raise ReadTimeoutError(endpoint_url="")


@cache
def _watch() -> _Watch:
    watch = _Watch()
    for name in ("sqs", "dynamodb", "lambda", "secretsmanager", "cloudwatch"):
        client(name).meta.events.register("before-call", watch.count)
        client(name).meta.events.register("after-call", watch.lose)
    return watch


class _Clients(Aws):
    def client(self, service: str, attempts: int = 1) -> Any:  # noqa: ARG002 - moto needs no repeats
        return client(service)


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

    def topics(self, setup: DynamicSetup = DYNAMIC) -> Topics:
        return Topics(setup, self.targets(setup))

    def targets(self, setup: DynamicSetup = DYNAMIC, **more: Any) -> DynamicTargets:
        more = {"timeout": 0.0, "clock": lambda: self.now, **more}
        resources = Resources("Bucketcast", setup, _Clients(), timeout=0)
        return DynamicTargets(setup, self.table, resources, **more)

    def destination_cache(self) -> DestinationCache:
        """Ingest's cache of queues."""
        return DestinationCache(self.table, DYNAMIC.prefix)

    @contextmanager
    def killed(self, before: int, lost: int = -1) -> Iterator[None]:
        """Within, end the process before this call to AWS, counted from 0."""
        self._watch.calls, self._watch.end_before, self._watch.lost = [], before, lost
        try:
            yield
        finally:
            self._watch.end_before = self._watch.lost = -1

    def unanswered(self, call: int) -> AbstractContextManager[None]:
        """Within, lose the answer of this call to AWS, counted from 0."""
        return self.killed(-1, call)

    def fill(self, *queues: str) -> None:
        """Put a message into each queue."""
        for queue in queues:
            self.sqs.send_message(QueueUrl=DYNAMIC.url(queue), MessageBody="x")

    def queues(self) -> set[str]:
        urls = self.sqs.list_queues().get("QueueUrls", [])
        return {url.rpartition("/")[2] for url in urls}

    def mappings(self) -> list[tuple[str, str]]:
        """The names of queues, and of the functions that read them."""
        mappings = self.functions.list_event_source_mappings()["EventSourceMappings"]
        arns = [(each["EventSourceArn"], each["FunctionArn"]) for each in mappings]
        return [(queue.rpartition(":")[2], name.rpartition(":")[2]) for queue, name in arns]

    def mapped(self) -> set[str]:
        """The names of the queues with an event source mapping."""
        return {queue for queue, _ in self.mappings()}

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
    aws.outputs["DynamicTargets"] = json.dumps({**asdict(DYNAMIC), **more})
    _make_functions()


def put_topic(
    aws: MotoAws, name: str, attributes: Mapping[str, str], tenant: str = "", owner: str = "ann"
) -> Topic:
    """Make a topic of a stack that takes dynamic targets."""
    wanted = DesiredTopic(owner, parse_attributes(attributes))
    return topics_of("Bucketcast", TABLE, aws).put(TopicArn("r", tenant, name), lambda *_: wanted)


def _make_functions() -> None:
    for kind in (*DYNAMIC.functions, "amqp", "kafka"):
        make_function(f"{DYNAMIC.prefix}{kind}")
