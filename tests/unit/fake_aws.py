"""AWS as the command line meets it: moto's rules table and queues, and functions that answer."""

import json
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import moto  # noqa: F401 - before any client is made, or it cannot answer for it
from botocore.exceptions import ClientError

from bucketcast.attach.notifications import EVENTS
from bucketcast.aws.breakers import Breakers
from bucketcast.aws.clients import Aws

REGION = "us-east-1"
TABLE = "rules"
INGRESS = "https://sqs.us-east-1.amazonaws.com/123456789012/Bucketcast-ingress"
Invoke = Callable[[str], Any]


@cache
def _client(service: str) -> Any:
    """Made once, which takes longer than a test; moto answers for it within `mock_aws`."""
    login = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return boto3.client(service, region_name=REGION, **login)  # type: ignore[call-overload]


def refusal(code: str, operation: str = "Any") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": f"{code} it said"}}, operation)


def make_rules_table(dynamodb: Any) -> str:
    """The rules table as the stack makes it; its name."""
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "bucket", "KeyType": "HASH"},
            {"AttributeName": "rule", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "bucket", "AttributeType": "S"},
            {"AttributeName": "rule", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    return TABLE


class NoLogGroupError(Exception):
    """What boto3 raises for a function that never wrote."""


class FakeAws(Aws):
    """Targets by kind and id are deployed; `online` gives what a function answers to its probe."""

    def __init__(self, *targets: tuple[str, str, str], stack: str = "Bucketcast") -> None:
        super().__init__()
        self.stack = stack
        self.outputs: dict[str, str] = {
            "IngressQueueUrl": INGRESS,
            "RulesTable": TABLE,
            "RoutesAddressed": "on",
        }
        self.answers: dict[str, Any] = {}
        self.pauses_known: dict[str, Any] = {}
        self.notification: Any = {
            "QueueConfigurations": [{"QueueArn": _arn(INGRESS), "Events": list(EVENTS)}]
        }
        self.dynamodb = _client("dynamodb")
        self.sqs = _client("sqs")
        self.secretsmanager = _client("secretsmanager")
        self.cloudwatch = _client("cloudwatch")
        self.kms = _client("kms")
        self.cloudformation: Any = SimpleNamespace(
            describe_stacks=self._describe,
            exceptions=SimpleNamespace(ClientError=ClientError),
            meta=SimpleNamespace(region_name=REGION, endpoint_url="https://cf"),
        )
        self.settings: dict[str, dict[str, str]] = {}
        self.functions: Any = SimpleNamespace(
            invoke=self._invoke, get_function_configuration=self._function
        )
        self.mapped: dict[str, dict[str, Any] | None] = {}
        self.mappings: Any = SimpleNamespace(
            get_function_configuration=self._function, list_event_source_mappings=self._mapped
        )
        self.denied: set[tuple[str, str]] = set()
        self.iam: Any = SimpleNamespace(simulate_principal_policy=self._simulate)
        self.logged: dict[str, list[dict[str, Any]]] = {}
        self.logs: Any = SimpleNamespace(
            get_paginator=lambda _: SimpleNamespace(paginate=self._logged),
            exceptions=SimpleNamespace(ResourceNotFoundException=NoLogGroupError),
        )
        self.events: Any = None
        self.cloudtrail: Any = None
        self.s3: Any = SimpleNamespace(get_bucket_notification_configuration=self._notification)
        make_rules_table(self.dynamodb)
        for place, (kind, type_, id_) in enumerate(targets):
            self._make_target(place, kind, type_, id_)

    def __call__(self, **_: Any) -> "FakeAws":
        return self

    def queue(self, name: str) -> str:
        return self.sqs.get_queue_url(QueueName=name)["QueueUrl"]

    def _make_target(self, place: int, kind: str, type_: str, id_: str) -> None:
        name = f"{self.stack}-{kind}-{id_}"
        queue = self.sqs.create_queue(QueueName=name)["QueueUrl"]
        dead = self.sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
        self.outputs[f"Target{place}"] = json.dumps(
            {
                "arn": f"arn:minio:sqs::{id_}:{type_}",
                "kind": kind,
                "id": id_,
                "function": name,
                "queue": queue,
                "dead": dead,
            }
        )
        self.answers[name] = {"online": True, "why": "", "where": f"{kind}.example.org"}

    def _describe(self, StackName: str) -> Any:  # noqa: N803 - boto3's name
        if self.stack != StackName:
            raise refusal("ValidationError", "DescribeStacks")
        outputs = [{"OutputKey": key, "OutputValue": text} for key, text in self.outputs.items()]
        return {"Stacks": [{"Outputs": outputs}]}

    def _invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803 - boto3's names
        asked = json.loads(Payload)
        answer = self.answers[FunctionName]
        if asked.get("pause"):
            there = Breakers(TABLE, lambda: self.dynamodb).of(asked["target"]).read()
            knows = {"paused": bool(there and there.paused)}
            answer = self.pauses_known.get(FunctionName, knows)
        else:
            assert asked["probe"] is True
        if isinstance(answer, Exception):
            raise answer
        failed = {"FunctionError": "Unhandled"} if "errorMessage" in answer else {}
        body = json.dumps(answer).encode()
        return {"Payload": SimpleNamespace(read=lambda: body), **failed}

    def _logged(self, logGroupName: str, filterPattern: str, startTime: int) -> Any:  # noqa: N803
        function = logGroupName.removeprefix("/aws/lambda/")
        if function not in self.logged:
            raise NoLogGroupError
        word = filterPattern.strip('"')
        yield {
            "events": [
                each
                for each in self.logged[function]
                if word in each["message"] and each["timestamp"] >= startTime
            ]
        }

    def _function(self, FunctionName: str) -> Any:  # noqa: N803 - boto3's name
        settings = json.dumps(self.settings.get(FunctionName, {}))
        role = f"arn:aws:iam::123456789012:role/{FunctionName}"
        variables = {"Variables": {"BUCKETCAST_SETTINGS": settings}}
        return {"Environment": variables, "Role": role, "MemorySize": 512}

    def _mapped(self, FunctionName: str, EventSourceArn: str) -> Any:  # noqa: N803 - boto3's names
        assert EventSourceArn.startswith("arn:aws:sqs:us-east-1:123456789012:")
        works = {
            "UUID": f"uuid-of-{FunctionName}",
            "State": "Enabled",
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }
        changed = self.mapped.get(FunctionName, {})
        return {"EventSourceMappings": [works | changed] if changed is not None else []}

    def _simulate(self, PolicySourceArn: str, ActionNames: list[str], ResourceArns: Any) -> Any:  # noqa: N803
        assert len(ResourceArns) == 1
        function = PolicySourceArn.rpartition("/")[2]
        denied = [action for name, action in self.denied if name == function]
        return {
            "EvaluationResults": [
                {
                    "EvalActionName": action,
                    "EvalDecision": "implicitDeny" if action in denied else "allowed",
                }
                for action in ActionNames
            ]
        }

    def _notification(self, Bucket: str) -> Any:  # noqa: N803 - boto3's name
        assert Bucket
        if isinstance(self.notification, Exception):
            raise self.notification
        return self.notification


def _arn(queue: str) -> str:
    account, name = queue.rsplit("/", 2)[1:]
    return f"arn:aws:sqs:{REGION}:{account}:{name}"
