"""What every deployment has: queues that lose nothing, functions with no right too many."""

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from bucketcast.settings.environment import DeployedTargets
from bucketcast.state.table import EXPIRES
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CONTEXT, ROOT, Make, Synthesised
from tests.infra.resource_policies import listed

TARGETS = ["webhook-primary", "postgres-a-b", "redis-a_b"]
QUEUES = ["ingress", *TARGETS]
FUNCTIONS = ["ingest", *TARGETS]
CLIENTS = {"webhook-primary": "webhook", "postgres-a-b": "postgres", "redis-a_b": "redis"}


def test_each_target_has_one_queue_one_dead_letter_queue_and_one_function(
    typical: Synthesised,
) -> None:
    names = {each["QueueName"] for each in typical.properties_of("AWS::SQS::Queue")}
    assert names == {f"Bucketcast-{queue}{dead}" for queue in QUEUES for dead in ("", "-dead")}
    functions = {each["FunctionName"] for each in typical.properties_of("AWS::Lambda::Function")}
    assert functions == {f"Bucketcast-{name}" for name in [*FUNCTIONS, "custom-resources"]}


@pytest.mark.parametrize("name", QUEUES)
def test_queue_keeps_events_for_the_maximum_and_has_dead_letters(
    typical: Synthesised, name: str
) -> None:
    queue, dead = typical.queue(f"Bucketcast-{name}"), typical.queue(f"Bucketcast-{name}-dead")
    fortnight = 14 * 24 * 3600
    assert queue["MessageRetentionPeriod"] == dead["MessageRetentionPeriod"] == fortnight
    (dead_id,) = [
        logical_id
        for logical_id, found in typical.of_type("AWS::SQS::Queue").items()
        if found["Properties"] == dead
    ]
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": [dead_id, "Arn"]}
    # Our functions dead-letter after 13 days: SQS must not do it earlier.
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 1_000


def test_an_empty_configuration_has_ingest(make: Make) -> None:
    assert make("").mapping("Bucketcast-ingest")["BatchSize"] == 10


def test_disabled_target_only_stops_reading(make: Make) -> None:
    text = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
    on, off = make(text), make(f"{text}enable = 'off'\n")
    assert on.mapping("Bucketcast-webhook-primary")["Enabled"] is True
    assert off.mapping("Bucketcast-webhook-primary")["Enabled"] is False
    names = (on.json["Resources"].keys(), off.json["Resources"].keys())
    assert len(names[0] ^ names[1]) == 0
    # They are meant to wait, but not until SQS drops them.
    waiting = [
        found.properties("AWS::CloudWatch::Alarm", AlarmName="Bucketcast-webhook-primary-waiting")
        for found in (on, off)
    ]
    assert [each["Threshold"] for each in waiting] == [900, 10 * 24 * 3600]


@pytest.mark.parametrize(("queue", "function"), list(zip(QUEUES, FUNCTIONS, strict=True)))
def test_function_reads_its_queue_and_reports_failures_one_by_one(
    typical: Synthesised, queue: str, function: str
) -> None:
    mapping = typical.mapping(f"Bucketcast-{function}")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BatchSize"] == 10
    assert "MaximumBatchingWindowInSeconds" not in mapping
    timeout = typical.function(f"Bucketcast-{function}")["Timeout"]
    assert typical.queue(f"Bucketcast-{queue}")["VisibilityTimeout"] == timeout + 30


def test_a_dispatch_function_reads_its_own_secret_only(typical: Synthesised) -> None:
    secrets = {
        logical_id: [text for text in _strings(statement["Resource"]) if ":secret:" in text]
        for logical_id, statement in typical.statements()
        if "secretsmanager:GetSecretValue" in listed(statement["Action"])
    }
    found = {name[: len("Targetwebhook")]: texts for name, texts in secrets.items()}
    # Of `secret:pg#dsn` the part after the hash is a field inside the secret.
    assert found == {
        "Targetwebhook": [":secret:webhook-primary-??????"],
        "Targetpostgre": [":secret:pg-??????"],
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_run_on_arm_and_are_not_stopped_as_a_loop(
    typical: Synthesised, name: str
) -> None:
    function = typical.function(f"Bucketcast-{name}")
    assert function["Architectures"] == ["arm64"]
    assert function["Runtime"] == "python3.13"
    # A long outage is no endless loop.
    assert function["RecursiveLoop"] == "Allow"


@pytest.mark.parametrize(("name", "kind"), CLIENTS.items())
def test_dispatch_carries_the_client_of_its_kind_and_no_other(
    typical: Synthesised, name: str, kind: str
) -> None:
    function = typical.function(f"Bucketcast-{name}")
    layers = sorted(layer["Ref"] for layer in function["Layers"])
    assert [layer[: -len("01234567")] for layer in layers] == [
        f"AssetsClient{kind}",
        "AssetsCore",
        "AssetsShared",
    ]
    assert function["Handler"] == "functions.startup.handler"
    variables = function["Environment"]["Variables"]
    assert variables["BUCKETCAST_HANDLER"] == "functions.dispatch.handler"


def test_lambda_is_asked_about_no_loops_in_china() -> None:
    """It detects none there, so it may refuse the setting."""
    stack = Stack(App(context=CONTEXT), "Bucketcast", env=Environment(region="cn-north-1"))
    Bucketcast(stack, "Default", config=ROOT / "examples" / "aws" / "bucketcast.toml")
    functions = Template.from_stack(stack).find_resources("AWS::Lambda::Function").values()
    assert functions
    assert not [each for each in functions if "RecursiveLoop" in each["Properties"]]


def test_ingest_gets_the_list_of_deployed_targets(typical: Synthesised) -> None:
    variables = typical.function("Bucketcast-ingest")["Environment"]["Variables"]
    deployed = DeployedTargets.from_text(variables["BUCKETCAST_TARGETS"])
    assert "arn:minio:sqs::primary:webhook" in deployed
    assert len(deployed.digests) == len(TARGETS)


def test_the_table_of_rules_is_kept_encrypted_and_can_be_restored(typical: Synthesised) -> None:
    properties = typical.properties("AWS::DynamoDB::Table")
    expires = properties["TimeToLiveSpecification"]
    assert expires == {"AttributeName": EXPIRES, "Enabled": True}
    keys = [(key["AttributeName"], key["KeyType"]) for key in properties["KeySchema"]]
    assert keys == [("partition", "HASH"), ("key", "RANGE")]
    assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    # It could not be rolled back otherwise; one that is deleted by hand stays in a backup.
    assert "DeletionProtectionEnabled" not in properties
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["SSESpecification"]["SSEEnabled"] is True


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [text for item in inner for text in _strings(item)]


def test_lambda_writes_lines_of_its_own_for_failed_calls_only(typical: Synthesised) -> None:
    """Its three lines for each call would be half of what an event writes."""
    functions = typical.properties_of("AWS::Lambda::Function")
    made = [each for each in functions if "LoggingConfig" in each]
    assert {each["FunctionName"] for each in made} >= {f"Bucketcast-{name}" for name in FUNCTIONS}
    assert {each["LoggingConfig"]["LogFormat"] for each in made} == {"JSON"}
    assert {each["LoggingConfig"]["SystemLogLevel"] for each in made} == {"WARN"}
