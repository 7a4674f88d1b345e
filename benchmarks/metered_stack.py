"""The functions of a stack within this process, whose AWS calls and log bytes are counted.

They run with the variables that the template gives them, against an AWS within the process, and a
clock that is put forward between batches.
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
from typing import Any, Final
from unittest import mock

import boto3
from aws_cdk import App, Stack
from aws_cdk.assertions import Template
from botocore.client import BaseClient
from moto import mock_aws

from benchmarks import events
from bucketcast.config import load
from bucketcast.cost import calls
from bucketcast.limits import SQS_CALL_MESSAGES
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CONTEXT
from tests.infra.resolved import ACCOUNT, REGION, Resolved
from tests.unit.samples import lambda_context

_LINE_BYTES: Final = 26
"""Bytes that CloudWatch bills for each line beside its own."""
_LAMBDA_LINES: Final = 276 + 3 * _LINE_BYTES
"""START, END and REPORT of a call whose function does not leave them out."""
_STACK: Final = "Bucketcast"
_HOOK: Final = "https://hooks.example.org/"


class _Urls(Resolved):
    """A template whose queues have the URLs that the AWS of this process gives them."""

    def _called(self, function: str, argument: Any) -> Any:
        match function:
            case "Fn::Select":
                return self._value(argument[1])[int(argument[0])]
            case "Fn::Split":
                return str(self._value(argument[1])).split(argument[0])
        return super()._called(function, argument)

    def _ref(self, logical_id: str) -> str:
        name = super()._ref(logical_id)
        if self._raw.get(logical_id, {}).get("Type") != "AWS::SQS::Queue":
            return name
        return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


class MeteredStack:
    """The two functions of a stack with one webhook, and their queues.

    `units` are the units used so far, by the names of prices. `offset` puts the clock forward.
    """

    def __init__(self, profile: str, endpoint: str, output: StringIO) -> None:
        """Make the queues, the table and a rule; `output` receives what the functions print."""
        self.units: Counter[str] = Counter()
        self.offset = 0.0
        self._output = output
        template = _template(profile, endpoint)
        self.sqs = boto3.client("sqs")
        dynamodb = boto3.client("dynamodb")
        boto3.client("secretsmanager").create_secret(Name="hook", SecretString="hunter2")
        for queue in template.of_type("AWS::SQS::Queue").values():
            fifo: Any = {"FifoQueue": "true"} if queue["QueueName"].endswith(".fifo") else {}
            self.sqs.create_queue(QueueName=queue["QueueName"], Attributes=fifo)
        ((table, settings),) = template.of_type("AWS::DynamoDB::Table").items()
        names = ("KeySchema", "AttributeDefinitions", "BillingMode")
        dynamodb.create_table(TableName=table, **{name: settings[name] for name in names})
        arn, event_names = "arn:minio:sqs::primary:webhook", ("s3:ObjectCreated:*",)
        Rules(table, dynamodb).add(Rule(bucket=events.BUCKET, arn=arn, events=event_names))
        self._functions = {
            function["FunctionName"].removeprefix(f"{_STACK}-"): function
            for function in template.of_type("AWS::Lambda::Function").values()
            if "FunctionName" in function
        }
        self._handlers = {name: self._load_handler(name) for name in ("ingest", "webhook-primary")}

    def _load_handler(self, name: str) -> Callable[..., Any]:
        variables = self._functions[name]["Environment"]["Variables"]
        with mock.patch.dict(os.environ, variables):
            handler: Callable[..., Any] = import_module(variables["BUCKETCAST_HANDLER"]).handler
        return handler

    def call(self, name: str, queue: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Call a function with messages, and count the units used."""
        records = [
            {**message, "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{_STACK}-{queue}"}
            for message in messages
        ]
        function = self._functions[name]
        with mock.patch.dict(os.environ, function["Environment"]["Variables"]), self._count():
            response = self._handlers[name](
                {"Records": records}, lambda_context(function_name=f"{_STACK}-{name}")
            )
        if response["batchItemFailures"]:
            raise RuntimeError(f"{name} did not accept all events")
        self.units["lambda_calls"] += 1
        quiet = function.get("LoggingConfig", {}).get("SystemLogLevel") == "WARN"
        self.units["logs"] += 0 if quiet else _LAMBDA_LINES
        self.units["sqs"] += sum(calls.billed(len(record["body"])) for record in records)
        self.units["sqs"] += math.ceil(len(records) / SQS_CALL_MESSAGES)

    def receive(self, queue: str) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the messages of a queue, up to ten at a time, and delete them."""
        url = self.sqs.get_queue_url(QueueName=f"{_STACK}-{queue}")["QueueUrl"]
        while messages := self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages"):
            now = round(time.time() * 1_000)
            yield [_record(message, now) for message in messages]
            for message in messages:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    @contextmanager
    def _count(self) -> Iterator[None]:
        """Count the calls and the log lines of a function."""
        # Not a hook of a session: not all clients are of the same one.
        call = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001

        def count_call(client: Any, operation: str, params: Mapping[str, Any]) -> Any:
            service = client.meta.service_model.service_name
            self.units.update(_units(service, operation, params))
            return call(client, operation, params)

        self._output.seek(0)
        self._output.truncate()
        with mock.patch.object(BaseClient, "_make_api_call", count_call):
            yield
        lines = self._output.getvalue().encode().splitlines(keepends=True)
        self.units["logs"] += sum(map(len, lines)) + _LINE_BYTES * len(lines)


@contextmanager
def metered_stack(profile: str, endpoint: str) -> Iterator[MeteredStack]:
    """Yield a stack whose webhook has this endpoint and deploy profile."""
    with mock_aws(), _capture() as output:
        stack = MeteredStack(profile, endpoint, output)
        with _clock(stack):
            yield stack


def _template(profile: str, endpoint: str) -> _Urls:
    """Return the template for AWS, with the webhook replaced by one on this machine."""
    deploy = {"profile": profile, "allow_private": ["127.0.0.1"]}
    hook = {"endpoint": _HOOK, "auth_token": "secret:hook", "deploy": deploy}
    tables = {
        "notify_webhook": {"primary": hook},
        "dynamic_targets": {"kinds": "off"},
        "alarms": {"topic": f"arn:aws:sns:{REGION}:{ACCOUNT}:pages"},
    }
    with TemporaryDirectory() as folder:
        stack = Stack(App(context=CONTEXT, outdir=folder), _STACK)
        Bucketcast(stack, "Default", config=load(tables, {}, local=False))
        template = json.dumps(Template.from_stack(stack).to_json())
    return _Urls(json.loads(template.replace(_HOOK, endpoint)))


def _units(service: str, operation: str, params: Mapping[str, Any]) -> dict[str, float]:
    """Return the billed units of a call."""
    match service, operation:
        case "sqs", _:
            messages = params.get("Entries", [params])
            size = sum(len(message.get("MessageBody", "")) for message in messages)
            return {"sqs": calls.billed(size)}
        case "dynamodb", "BatchGetItem":
            requests = params["RequestItems"].values()
            reads = sum(len(request["Keys"]) * _read_units(request) for request in requests)
            return {"dynamodb_reads": reads}
        case "dynamodb", "GetItem" | "Query":
            return {"dynamodb_reads": _read_units(params)}
        case "dynamodb", "UpdateItem" | "PutItem" | "DeleteItem":
            return {"dynamodb_writes": 1}
        case "secretsmanager", "GetSecretValue":
            return {"secret_reads": 1}
    raise NotImplementedError(f"the price of {service} {operation}")


def _read_units(request: Mapping[str, Any]) -> float:
    return 1 if request.get("ConsistentRead") else 0.5


def _record(message: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return a received message as Lambda's record; it was sent `now`, by the clock put forward."""
    attributes = message.get("MessageAttributes", {}).items()
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {**message["Attributes"], "SentTimestamp": str(now)},
        "messageAttributes": {
            name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
            for name, value in attributes
        },
    }


@contextmanager
def _capture() -> Iterator[StringIO]:
    """Capture stdout, and unload the modules that read the variables of this stack."""
    before = set(sys.modules)
    output = StringIO()
    with mock.patch.object(sys, "stdout", output):
        yield output
    for name in set(sys.modules) - before:
        if name.startswith(("functions", "bucketcast")):
            del sys.modules[name]


@contextmanager
def _clock(stack: MeteredStack) -> Iterator[None]:
    """Put the clocks forward by the stack's offset."""
    clocks = {name: getattr(time, name) for name in ("time", "monotonic")}
    later: dict[str, Any] = {
        name: lambda clock=clock: clock() + stack.offset for name, clock in clocks.items()
    }
    with mock.patch.multiple(time, **later):
        yield
