"""What events cost: the AWS calls and log bytes of the real handlers, counted, at AWS's prices.

The handlers run with the variables that the template gives them, against an AWS within the process,
and a clock that is put forward between batches, so that 600 of them are 600 seconds at one event
a second. What S3 and Lambda's pollers
do is added: a message for each event, a receive and a delete for each ten messages. How long a
batch takes on Lambda is assumed, as by `bucketcast cost`. One instance of each function runs.

Run: `python -m benchmarks.price`; it prints the table of docs/architecture.md.
"""

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from unittest import mock

import boto3
from aws_cdk import App, Stack
from aws_cdk.assertions import Template
from botocore.client import BaseClient
from moto import mock_aws

from benchmarks import events as made
from benchmarks.nginx import receiver
from bucketcast.config import load
from bucketcast.cost import calls
from bucketcast.cost.estimate import DISPATCH_SECONDS, INGEST_SECONDS, PARALLEL, Load
from bucketcast.cost.prices import prices
from bucketcast.limits import MEMORY
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CONTEXT
from tests.infra.resolved import ACCOUNT, REGION, Resolved
from tests.unit.samples import lambda_context

BATCHES: Final = 600
GB: Final = 1_000_000_000
A_LINE: Final = 26
"""Bytes that CloudWatch bills for each line beside its own."""
LINES_OF_LAMBDA: Final = 276 + 3 * A_LINE
"""START, END and REPORT of a call whose function does not leave them out."""
STACK: Final = "Bucketcast"
HOOK: Final = "https://hooks.example.org/"
SERVICES: Final = ("SQS", "Lambda", "DynamoDB", "CloudWatch", "Secrets Manager")
OF: Final = {
    "sqs": "SQS",
    "lambda_calls": "Lambda",
    "lambda_seconds": "Lambda",
    "dynamodb_reads": "DynamoDB",
    "dynamodb_writes": "DynamoDB",
    "logs": "CloudWatch",
    "secret_reads": "Secrets Manager",
}


class Case(NamedTuple):
    """Events a second, and how many of them ingest gets at once."""

    profile: str
    rate: int
    together: int


CASES: Final = (
    Case("latency", 1, 1),
    Case("latency", 10, 1),
    Case("throughput", 100, 100),
)


class Urls(Resolved):
    """A template whose queues have the URLs that the AWS of this process gives them."""

    def _called(self, function: str, given: Any) -> Any:
        match function:
            case "Fn::Select":
                return self._value(given[1])[int(given[0])]
            case "Fn::Split":
                return str(self._value(given[1])).split(given[0])
        return super()._called(function, given)

    def _ref(self, logical_id: str) -> str:
        name = super()._ref(logical_id)
        if self._raw.get(logical_id, {}).get("Type") != "AWS::SQS::Queue":
            return name
        return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


class System:
    """The two functions of a stack with one webhook, and their queues."""

    def __init__(self, profile: str, endpoint: str) -> None:
        self.used: Counter[str] = Counter()
        self.offset = 0.0
        self.out = StringIO()
        template = _template(profile, endpoint)
        self.sqs = boto3.client("sqs")
        dynamodb = boto3.client("dynamodb")
        boto3.client("secretsmanager").create_secret(Name="hook", SecretString="hunter2")
        for queue in template.of_type("AWS::SQS::Queue").values():
            fifo: Any = {"FifoQueue": "true"} if queue["QueueName"].endswith(".fifo") else {}
            self.sqs.create_queue(QueueName=queue["QueueName"], Attributes=fifo)
        ((table, about),) = template.of_type("AWS::DynamoDB::Table").items()
        keys = {name: about[name] for name in ("KeySchema", "AttributeDefinitions", "BillingMode")}
        dynamodb.create_table(TableName=table, **keys)
        arn, events = "arn:minio:sqs::primary:webhook", ("s3:ObjectCreated:*",)
        Rules(table, dynamodb).add(Rule(bucket=made.BUCKET, arn=arn, events=events))
        self._functions = {
            each["FunctionName"].removeprefix(f"{STACK}-"): each
            for each in template.of_type("AWS::Lambda::Function").values()
            if "FunctionName" in each
        }
        self._handlers = {name: self._loaded(name) for name in ("ingest", "webhook-primary")}

    def _loaded(self, name: str) -> Callable[..., Any]:
        variables = self._functions[name]["Environment"]["Variables"]
        with mock.patch.dict(os.environ, variables):
            loaded: Callable[..., Any] = import_module(variables["BUCKETCAST_HANDLER"]).handler
        return loaded

    def call(self, name: str, queue: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Call a function with messages, and count what that uses."""
        records = [
            {**each, "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{STACK}-{queue}"}
            for each in messages
        ]
        function = self._functions[name]
        with mock.patch.dict(os.environ, function["Environment"]["Variables"]), self._counted():
            answer = self._handlers[name](
                {"Records": records}, lambda_context(function_name=f"{STACK}-{name}")
            )
        if answer["batchItemFailures"]:
            raise RuntimeError(f"{name} did not take everything")
        self.used["lambda_calls"] += 1
        quiet = function.get("LoggingConfig", {}).get("SystemLogLevel") == "WARN"
        self.used["logs"] += 0 if quiet else LINES_OF_LAMBDA
        for start in range(0, len(records), calls.MESSAGES_A_CALL):
            part = records[start : start + calls.MESSAGES_A_CALL]
            self.used["sqs"] += calls.billed(sum(len(each["body"]) for each in part)) + 1

    def waiting(self, queue: str) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the messages of a queue, up to ten at a time, and take them out."""
        url = self.sqs.get_queue_url(QueueName=f"{STACK}-{queue}")["QueueUrl"]
        while found := self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages"):
            yield [_record(each, round(time.time() * 1_000)) for each in found]
            for each in found:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the calls and the log lines of a function."""
        # A session has hooks of its own, and not all clients are of the same session.
        call = BaseClient._make_api_call  # noqa: SLF001

        def counting(client: Any, operation: str, params: Mapping[str, Any]) -> Any:
            service = client.meta.service_model.service_name
            self.used.update(_units(service, operation, params))
            return call(client, operation, params)

        self.out.seek(0)
        self.out.truncate()
        with mock.patch.object(BaseClient, "_make_api_call", counting):
            yield
        lines = self.out.getvalue().encode().splitlines(keepends=True)
        self.used["logs"] += sum(map(len, lines)) + A_LINE * len(lines)


def _template(profile: str, endpoint: str) -> Urls:
    """Return the template for AWS, with a webhook on this machine put in afterwards."""
    deploy = {"profile": profile, "allow_private": ["127.0.0.1"]}
    hook = {"endpoint": HOOK, "auth_token": "secret:hook", "deploy": deploy}
    tables = {
        "notify_webhook": {"primary": hook},
        "dynamic_targets": {"kinds": "off"},
        "alarms": {"topic": f"arn:aws:sns:{REGION}:{ACCOUNT}:pages"},
    }
    with TemporaryDirectory() as folder:
        stack = Stack(App(context=CONTEXT, outdir=folder), STACK)
        Bucketcast(stack, "Default", config=load(tables, {}, local=False))
        template = json.dumps(Template.from_stack(stack).to_json())
    return Urls(json.loads(template.replace(HOOK, endpoint)))


def _units(service: str, operation: str, params: Mapping[str, Any]) -> dict[str, float]:
    """Return what a call is billed as."""
    match service, operation:
        case "sqs", _:
            sent = params.get("Entries", [params])
            return {"sqs": calls.billed(sum(len(each.get("MessageBody", "")) for each in sent))}
        case "dynamodb", "BatchGetItem":
            asked = params["RequestItems"].values()
            return {"dynamodb_reads": sum(len(each["Keys"]) * _read(each) for each in asked)}
        case "dynamodb", "GetItem" | "Query":
            return {"dynamodb_reads": _read(params)}
        case "dynamodb", "UpdateItem" | "PutItem" | "DeleteItem":
            return {"dynamodb_writes": 1}
        case "secretsmanager", "GetSecretValue":
            return {"secret_reads": 1}
    raise NotImplementedError(f"the price of {service} {operation}")


def _read(asked: Mapping[str, Any]) -> float:
    return 1 if asked.get("ConsistentRead") else 0.5


def _record(message: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return a received message as Lambda's record; it was sent `now`, by the clock put forward."""
    attributes = message.get("MessageAttributes", {}).items()
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {**message["Attributes"], "SentTimestamp": str(now)},
        "messageAttributes": {
            name: {"dataType": each["DataType"], "stringValue": each["StringValue"]}
            for name, each in attributes
        },
    }


def used(case: Case, endpoint: str) -> Counter[str]:
    """Return the units that an event uses, by the names of prices; the first batch is left out."""
    with mock_aws(), _still() as out:
        system = System(case.profile, endpoint)
        system.out = out
        count = 0
        with _forward(system):
            for number in range(-1, BATCHES):
                if number == 0:
                    system.used.clear()
                    count = 0
                _batch(system, case, max(0, number) * case.together)
                system.offset += case.together / case.rate
                count += case.together
    units = Counter({name: of / count for name, of in system.used.items()})
    units["logs"] /= GB
    ingest = INGEST_SECONDS[0] / case.together + INGEST_SECONDS[1]
    answers = math.ceil(case.together / PARALLEL["webhook"])
    dispatch = DISPATCH_SECONDS[0] + answers * Load(events_a_day=1).target_seconds
    dispatch = dispatch / case.together + DISPATCH_SECONDS[1]
    units["lambda_seconds"] = (ingest + dispatch) * MEMORY / 1_024
    units["sqs"] += 1  # S3's
    return units


def _batch(system: System, case: Case, start: int) -> None:
    """Let a batch of events through both functions."""
    now = str(round(time.time() * 1_000))
    system.call(
        "ingest",
        "ingress",
        [
            {
                "messageId": str(number),
                "receiptHandle": str(number),
                "body": json.dumps({"Records": [made.record(number)]}, separators=(",", ":")),
                "attributes": {"SentTimestamp": now, "ApproximateReceiveCount": "1"},
                "messageAttributes": {},
            }
            for number in range(start, start + case.together)
        ],
    )
    batches = list(system.waiting("webhook-primary"))
    if not batches:
        raise RuntimeError("no rule matched")
    for messages in batches:
        system.call("webhook-primary", "webhook-primary", messages)


@contextmanager
def _still() -> Iterator[StringIO]:
    """Keep what is written, and forget modules that were loaded with other variables."""
    before = set(sys.modules)
    out = StringIO()
    with mock.patch.object(sys, "stdout", out):
        yield out
    for name in set(sys.modules) - before:
        if name.startswith(("functions", "bucketcast")):
            del sys.modules[name]


@contextmanager
def _forward(system: System) -> Iterator[None]:
    """Put the clocks forward by the system's offset."""
    clocks = {name: getattr(time, name) for name in ("time", "monotonic")}
    with mock.patch.multiple(
        time, **{name: lambda of=of: of() + system.offset for name, of in clocks.items()}
    ):
        yield


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
            found = used(case, settings["endpoint"])
            dollars: Counter[str] = Counter()
            for name, units in found.items():
                dollars[OF[name]] += known.of(name, units * 1_000_000)
            stored = found["dynamodb_reads"] + found["dynamodb_writes"]
            print(
                f"| {case.profile}, {case.rate}/s",
                f"{found['sqs']:.2f}",
                f"{stored:.2f}",
                f"{found['logs'] * GB:,.0f}",
                *(f"{dollars[name]:.2f}" for name in SERVICES),
                f"**${dollars.total():.2f}** |",
                sep=" | ",
            )


if __name__ == "__main__":
    main()
