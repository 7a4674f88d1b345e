"""A deployed stack in moto, and by hand the calls that moto cannot answer."""

import json
import time
from collections.abc import Iterable, Mapping
from functools import cache
from io import BytesIO
from threading import Lock
from typing import Any, Final

import boto3
import moto  # noqa: F401 - before any client is made, or it cannot answer for it
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.awslambda.models import lambda_backends
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.sqs.models import sqs_backends
from msgspec.structs import asdict

from bucketcast.aws.clients import Aws
from bucketcast.deployment import DynamicSetup
from bucketcast.notifications.document import attach
from bucketcast.rules.sent_events import EVENTS, Part
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.state.rules import Rules
from bucketcast.state.table import PARTITION_KEY, SORT_KEY

ACCOUNT: Final = "123456789012"
REGION: Final = "us-east-1"
TABLE: Final = "state"
INGRESS: Final = "https://sqs.us-east-1.amazonaws.com/123456789012/Bucketcast-ingress"
INGRESS_ARN: Final = f"arn:aws:sqs:{REGION}:{ACCOUNT}:Bucketcast-ingress"
ENTRY: Final = {"Id": "Bucketcast-ingress", "QueueArn": INGRESS_ARN, "Events": list(EVENTS)}
"""Our entry in the notification configuration of an attached bucket."""
TOPIC: Final = f"arn:aws:sns:{REGION}:{ACCOUNT}:pages"
WEBHOOK: Final = "arn:minio:sqs::primary:webhook"
POSTGRES: Final = "arn:minio:sqs::main:postgresql"
DYNAMIC: Final = DynamicSetup(
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
    topic=TOPIC,
)
_LOGGING: Final = Lock()
"""What the command line sends by several threads is logged by them."""


@cache
def client(service: str) -> Any:
    """Return a client, made once because that takes longer than a test; use it in `mock_aws`."""
    # What describes and signs a request takes a tenth of a call; of moto only S3 reads a signature.
    signature = None if service == "s3" else UNSIGNED
    made = boto3.client(  # type: ignore[call-overload]
        service,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(user_agent="tests", signature_version=signature),
    )
    if service == "s3":
        _return_eventbridge(made)
    return made


def _return_eventbridge(s3: Any) -> None:
    """Let S3 return `EventBridgeConfiguration`, which moto stores and does not return."""
    operation = "s3.GetBucketNotificationConfiguration"

    def remember(params: Any, context: dict[str, Any], **_: Any) -> None:
        context["bucket"] = params["Bucket"]

    def add(parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        bucket = s3_backends[ACCOUNT]["aws"].buckets.get(context["bucket"])
        stored = bucket.notification_configuration if bucket else None
        if stored and stored.event_bridge is not None:
            parsed["EventBridgeConfiguration"] = {}

    s3.meta.events.register(f"before-parameter-build.{operation}", remember)
    s3.meta.events.register(f"after-call.{operation}", add)


def refusal(code: str, operation: str = "Any", message: str = "") -> ClientError:
    message = message or f"{code} it said"
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


def make_state_table(dynamodb: Any) -> str:
    """Make the state table as the stack does; return its name."""
    keys = {PARTITION_KEY: "HASH", SORT_KEY: "RANGE"}
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": key, "KeyType": type_} for key, type_ in keys.items()],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    return TABLE


def make_function(name: str) -> None:
    """Make a function and its role; by a client that would take longer than a test."""
    role = iam_backends[ACCOUNT]["aws"].create_role(name, "{}", "/", None, "", [], None)
    lambda_backends[ACCOUNT][REGION].create_function(
        {
            "FunctionName": name,
            "Role": role.arn,
            "Handler": "x.y",
            "Runtime": "python3.13",
            "Code": {"ZipFile": ""},
            "MemorySize": 512,
            "Environment": _environment({}),
        }
    )


def _make_queue(name: str) -> str:
    sqs_backends[ACCOUNT][REGION].create_queue(name, {})
    return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


def configure(function: str, **settings: str) -> None:
    """Replace the settings of a target's function."""
    client("lambda").update_function_configuration(
        FunctionName=function, Environment=_environment(settings)
    )


def _environment(settings: Mapping[str, str]) -> Any:
    return {"Variables": {"BUCKETCAST_SETTINGS": json.dumps(settings)}}


def log(function: str, lines: Iterable[str], ago: float = 10) -> None:
    """Write lines to a function's log, as if so many seconds ago."""
    logs, group = client("logs"), f"/aws/lambda/{function}"
    at = int((time.time() - ago) * 1000)
    events = [{"timestamp": at, "message": f"{line}\n"} for line in lines]
    with _LOGGING:
        if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            logs.create_log_group(logGroupName=group)
            logs.create_log_stream(logGroupName=group, logStreamName="all")
        if events:
            logs.put_log_events(logGroupName=group, logStreamName="all", logEvents=events)


def make_bucket(name: str, **notification: Any) -> None:
    """Make a bucket with this notification configuration."""
    client("s3").create_bucket(Bucket=name)
    notify(name, **notification)


def notify(bucket: str, **notification: Any) -> None:
    """Replace the notification configuration of a bucket."""
    client("s3").put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration=notification
    )


def notification(bucket: str) -> dict[str, Any]:
    """Return the notification configuration of a bucket."""
    found = client("s3").get_bucket_notification_configuration(Bucket=bucket)
    return {key: value for key, value in found.items() if key != "ResponseMetadata"}


def event_patterns() -> dict[str, Any]:
    """Return the patterns of EventBridge's rules by their names."""
    rules = client("events").list_rules()["Rules"]
    return {each["Name"]: json.loads(each["EventPattern"]) for each in rules}


class MotoAws(Aws):
    """A stack with these targets, each a kind, a type and an id.

    Two calls are answered here, since moto runs functions in Docker, and asks for packages of many
    services to describe a stack. The stack has `outputs`, and functions that are invoked return
    their `answers` (or raise them).
    """

    def __init__(self, patch: pytest.MonkeyPatch, *targets: tuple[str, str, str]) -> None:
        super().__init__()
        self.stack = "Bucketcast"
        self.outputs: dict[str, str] = {
            "IngressQueueUrl": INGRESS,
            "StateTable": TABLE,
            "DynamicTargets": json.dumps({**asdict(DYNAMIC), "functions": {}}),
        }
        self.answers: dict[str, Any] = {}
        self.pause_answers: dict[str, Any] = {}
        patch.setattr(self.cloudformation, "describe_stacks", self._describe_stacks)
        patch.setattr(self.functions, "invoke", self._invoke)
        make_state_table(self.dynamodb)
        self.rules = Rules(TABLE, self.dynamodb)
        make_function(f"{self.stack}-ingest")
        for number, (kind, type_, id_) in enumerate(targets):
            self.outputs[f"Target{number}"] = json.dumps(self._make_target(kind, type_, id_))

    def client(self, service: str, attempts: int = 1) -> Any:  # noqa: ARG002 - moto asks for no repeats
        return client(service)

    @property
    def counters(self) -> Counters:
        """Counters that have met no slow answer yet, after which they write later."""
        return Counters(TABLE, lambda: self.dynamodb)

    def queue(self, name: str) -> str:
        return self.sqs.get_queue_url(QueueName=name)["QueueUrl"]

    def _make_target(self, kind: str, type_: str, id_: str) -> dict[str, str]:
        name = f"{self.stack}-{kind}-{id_}"
        make_function(name)
        online = {"online": True, "why": "", "where": f"{kind}.example.org"}
        self.answers[name] = {**online, "findings": []}
        return {
            "arn": f"arn:minio:sqs::{id_}:{type_}",
            "kind": kind,
            "id": id_,
            "function": name,
            "queue": _make_queue(name),
            "dead": _make_queue(f"{name}-dead"),
        }

    def change(self, arn: str, **changed: Any) -> None:
        """Change what the stack says of a target."""
        (key,) = [name for name, text in self.outputs.items() if arn in text]
        self.outputs[key] = json.dumps({**json.loads(self.outputs[key]), **changed})

    def attach_by_deploy(self, via: str = "sqs", **more: Any) -> None:
        """Let the stack say that it has attached the bucket uploads."""
        attached = {"bucket": "uploads", "via": via, **more}
        self.outputs["Attachmentsuploads"] = json.dumps(attached)

    def attach_part(self, part: Part) -> None:
        """Let a deploy have attached this part of the bucket uploads."""
        self.attach_by_deploy(part=part._asdict())
        notify("uploads", **attach({}, "Bucketcast-ingress", INGRESS_ARN, part))

    def _describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's name
        if self.stack != StackName:
            raise refusal("ValidationError", "DescribeStacks")
        outputs = [{"OutputKey": key, "OutputValue": text} for key, text in self.outputs.items()]
        return {"Stacks": [{"Outputs": outputs}]}

    def _invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803 - boto3's names
        request = json.loads(Payload)
        answer = self.answers[FunctionName]
        if request.get("pause"):
            state = Breakers(TABLE, lambda: self.dynamodb).of(request["target"]).read()
            answer = {"paused": bool(state and state.paused)}
            answer = self.pause_answers.get(FunctionName, answer)
        else:
            assert request["probe"] is True
        if isinstance(answer, Exception):
            raise answer
        failed = {"FunctionError": "Unhandled"} if "errorMessage" in answer else {}
        return {"Payload": BytesIO(json.dumps(answer).encode()), **failed}
