"""Everything that keeps events waiting raises an alarm, and alarms notify a topic."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Annotations, Match
from aws_lambda_powertools import Metrics

from bucketcast import telemetry
from bucketcast.config.function import ON_AWS
from bucketcast_cdk import alarms as made_alarms
from tests.infra.conftest import PIPELINE, ROOT, Make, Synthesised

QUEUES = {
    "ingress": "ingest",
    "webhook-primary": "webhook-primary",
    "postgres-a-b": "postgres-a-b",
    "redis-a_b": "redis-a_b",
}
INGEST = {"throttled": ("Throttles", 0)}
HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
TOPIC = "arn:aws:sns:eu-central-1:111122223333:pages"


def alarms(found: Synthesised) -> dict[str, dict[str, Any]]:
    """By their names."""
    made = found.of_type("AWS::CloudWatch::Alarm").values()
    return {each["Properties"]["AlarmName"]: each["Properties"] for each in made}


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_has_an_alarm_for_each_way_to_stand_still(typical: Synthesised, name: str) -> None:
    seen = {
        alarm.removeprefix(f"Bucketcast-{name}-"): (made["MetricName"], made["Threshold"])
        for alarm, made in alarms(typical).items()
        if alarm.startswith(f"Bucketcast-{name}-")
    }
    assert seen == {
        "dead": ("ApproximateNumberOfMessagesVisible", 0),
        "waiting": ("OldestEventAge", 900),
        "unread": ("ApproximateAgeOfOldestMessage", 900),
        "in-flight": ("ApproximateNumberOfMessagesNotVisible", 100_000),
        "failing": ("Errors", 0),
        **(INGEST if name == "ingress" else {}),
    }


@pytest.mark.parametrize(("name", "function"), QUEUES.items())
def test_each_looks_at_its_own_queue_and_function(
    typical: Synthesised, name: str, function: str
) -> None:
    made = {what: alarms(typical)[f"Bucketcast-{name}-{what}"] for what in ("dead", "unread")}
    for what, queue in (("dead", f"Bucketcast-{name}-dead"), ("unread", f"Bucketcast-{name}")):
        (dimension,) = made[what]["Dimensions"]
        (logical_id, _) = dimension["Value"]["Fn::GetAtt"]
        found = typical.json["Resources"][logical_id]["Properties"]["QueueName"]
        assert (dimension["Name"], found) == ("QueueName", queue)
    (dimension,) = alarms(typical)[f"Bucketcast-{name}-failing"]["Dimensions"]
    found = typical.json["Resources"][dimension["Value"]["Ref"]]["Properties"]["FunctionName"]
    assert found == f"Bucketcast-{function}"


@pytest.mark.parametrize(
    ("name", "function", "target"),
    [
        ("webhook-primary", "webhook-primary", "arn:minio:sqs::primary:webhook"),
        ("ingress", "ingest", "ingress"),
    ],
)
def test_the_alarm_looks_where_the_function_writes(
    typical: Synthesised,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    function: str,
    target: str,
) -> None:
    """CloudWatch takes a metric with one dimension more for another metric."""
    variables = typical.function(f"Bucketcast-{function}")["Environment"]["Variables"]
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", variables["POWERTOOLS_SERVICE_NAME"])
    namespace = variables["POWERTOOLS_METRICS_NAMESPACE"]
    monkeypatch.setattr(telemetry, "_metrics", Metrics(namespace=namespace))
    telemetry.oldest(target, 1_000)
    telemetry.flush()
    written = json.loads(capsys.readouterr().out.splitlines()[-1])
    (described,) = written["_aws"]["CloudWatchMetrics"]
    (names,) = described["Dimensions"]
    made = alarms(typical)[f"Bucketcast-{name}-waiting"]
    (metric,) = described["Metrics"]
    assert (made["Namespace"], made["MetricName"], made["Unit"]) == (
        described["Namespace"],
        metric["Name"],
        metric["Unit"],
    )
    looked_at = {each["Name"]: each["Value"] for each in made["Dimensions"]}
    assert looked_at == {key: written[key] for key in names}


def test_two_stacks_do_not_share_metrics(make: Make) -> None:
    """Targets of one name in two stacks would fire each other's alarms."""
    other = make(stack="Other")
    functions = other.of_type("AWS::Lambda::Function").values()
    variables = [
        each["Properties"].get("Environment", {}).get("Variables", {}) for each in functions
    ]
    written = {
        each["POWERTOOLS_METRICS_NAMESPACE"] for each in variables if "POWERTOOLS_LOG_LEVEL" in each
    }
    watched = {made["Namespace"] for made in alarms(other).values()}
    assert written == {each for each in watched if not each.startswith("AWS/")} == {"Other"}


@pytest.mark.parametrize("part", made_alarms._IDS)
def test_the_docs_have_a_hint_for_each(part: str) -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    _, heading, section = text.partition(f"### `…-{part}`\n")
    assert heading, "no section has this heading"
    section = section.partition("\n#")[0]
    assert "**Means.**" in section
    assert "**Do.**" in section


def test_an_alarm_does_not_end_between_two_tries(typical: Synthesised) -> None:
    """A message comes back after 20 minutes at the longest, and only then is its age reported."""
    made = alarms(typical)["Bucketcast-webhook-primary-waiting"]
    assert made["DatapointsToAlarm"] == 1
    assert made["Period"] * made["EvaluationPeriods"] > 20 * 60
    assert made["TreatMissingData"] == "notBreaching"


def test_every_alarm_tells_the_topic_when_it_begins_and_ends(make: Make) -> None:
    found = make(f"{HOOK}[alarms]\ntopic = '{TOPIC}'\n")
    assert all(
        each["AlarmActions"] == each["OKActions"] == [TOPIC] for each in alarms(found).values()
    )
    assert len(alarms(found)) == 11 + len(ON_AWS), "a queue's five, ingest's, and run-time ones"
    assert not found.of_type("AWS::SNS::Topic")


def test_an_address_gets_an_encrypted_topic_that_cloudwatch_may_use(make: Make) -> None:
    found = make(f"{HOOK}[alarms]\nemail = 'ops@example.org'\n")
    ((topic, made),) = found.of_type("AWS::SNS::Topic").items()
    ((key, key_properties),) = found.of_type("AWS::KMS::Key").items()
    assert all(
        each["AlarmActions"] == each["OKActions"] == [{"Ref": topic}]
        for each in alarms(found).values()
    )
    (subscription,) = found.of_type("AWS::SNS::Subscription").values()
    assert subscription["Properties"]["Protocol"] == "email"
    assert subscription["Properties"]["Endpoint"] == "ops@example.org"
    assert made["Properties"]["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert key_properties["Properties"]["EnableKeyRotation"] is True
    policies = [
        statement
        for document in (
            key_properties["Properties"]["KeyPolicy"],
            *(each["Properties"]["PolicyDocument"] for each in _policies(found)),
        )
        for statement in document["Statement"]
        if statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    ]
    assert [(each["Effect"], each["Action"]) for each in policies] == [
        ("Allow", ["kms:Decrypt", "kms:GenerateDataKey*"]),
        ("Allow", "sns:Publish"),
    ]
    only_ours = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert all(each["Condition"] == only_ours for each in policies)


@pytest.mark.parametrize(("table", "count"), [("", 1), (f"[alarms]\ntopic = '{TOPIC}'\n", 0)])
def test_the_deploy_notes_that_nobody_is_paged(make: Make, table: str, count: int) -> None:
    found = Annotations.from_stack(make(HOOK + table).stack)
    nobody = found.find_warning("*", Match.string_like_regexp("nobody is notified of alarms"))
    assert len(nobody) == count


def test_a_local_stack_has_no_alarms(make: Make) -> None:
    found = Annotations.from_stack(make(HOOK, local=True).stack)
    assert not found.find_warning("*", Match.string_like_regexp("nobody is notified of alarms"))


def _policies(found: Synthesised) -> list[dict[str, Any]]:
    return list(found.of_type("AWS::SNS::TopicPolicy").values())


def test_a_failed_run_and_a_lost_start_raise_an_alarm(make: Make) -> None:
    found = make(HOOK + PIPELINE)
    ((queue, made),) = [
        (name, each["Properties"])
        for name, each in found.of_type("AWS::SQS::Queue").items()
        if each["Properties"]["QueueName"] == "Bucketcast-pipeline-dead"
    ]
    assert made["MessageRetentionPeriod"] == 14 * 24 * 3600
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    (dimension,) = alarms(found)["Bucketcast-pipeline-dead"]["Dimensions"]
    assert dimension == {"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}
    runs = found.properties("AWS::Events::Rule", Name="Bucketcast-runs")
    assert runs["EventPattern"]["detail-type"] == ["Glue Job State Change"]
    assert runs["EventPattern"]["detail"] == {
        "jobName": ["Bucketcast-scan", "Bucketcast-backfill", "Bucketcast-reconcile"],
        "state": ["FAILED", "TIMEOUT", "ERROR"],
    }
    assert [each["Arn"] for each in runs["Targets"]] == [arn]
    (schedule,) = found.of_type("AWS::Scheduler::Schedule").values()
    assert schedule["Properties"]["Target"]["DeadLetterConfig"] == {"Arn": arn}
    report = found.properties("AWS::Events::Rule", Name="Bucketcast-report-archive")
    assert report["Targets"][0]["DeadLetterConfig"] == {"Arn": arn}
    failures = [
        each["Properties"].get("DestinationConfig")
        for each in found.of_type("AWS::Lambda::EventInvokeConfig").values()
    ]
    assert {"OnFailure": {"Destination": arn}} in failures
    writers = [name for name, each in found.statements() if each["Resource"] == arn]
    assert len(writers) == 2


def test_a_function_without_a_queue_has_alarms_for_errors_and_throttles(
    make: Make,
) -> None:
    found = alarms(make('control = "on"\n' + HOOK + PIPELINE))
    for name in ("start", "control"):
        failing = found[f"Bucketcast-{name}-failing"]
        throttled = found[f"Bucketcast-{name}-throttled"]
        assert (failing["MetricName"], throttled["MetricName"]) == ("Errors", "Throttles")
        assert failing["Dimensions"] == throttled["Dimensions"]
