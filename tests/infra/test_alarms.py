"""Everything that keeps events waiting raises an alarm, and alarms notify a topic."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Annotations, Match

from bucketcast import telemetry
from bucketcast.delivery.alarms import queue_alarm_names
from tests.infra.conftest import PIPELINE, ROOT, Make, Synthesised

QUEUES = ("ingress", "webhook-primary", "postgres-a-b", "redis-a_b")
HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
TOPIC = "arn:aws:sns:eu-central-1:111122223333:pages"


def alarms(found: Synthesised) -> dict[str, dict[str, Any]]:
    """By their names."""
    made = found.of_type("AWS::CloudWatch::Alarm").values()
    return {each["Properties"]["AlarmName"]: each["Properties"] for each in made}


def metrics(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [each["MetricStat"]["Metric"] for each in made["Metrics"] if "MetricStat" in each]


def test_queue_has_two_alarms(typical: Synthesised) -> None:
    names = {f"Bucketcast-{name}-{part}" for name in QUEUES for part in ("dead", "waiting")}
    assert alarms(typical).keys() == {*names, "Bucketcast-notifications"}
    billed = [metric for made in alarms(typical).values() for metric in metrics(made)]
    assert len(billed) == 3 * len(QUEUES) + 1, "CloudWatch bills an alarm by its metrics"


def test_alarms_say_whose_they_are_what_to_run_and_what_to_read(typical: Synthesised) -> None:
    made = alarms(typical)
    waiting = made["Bucketcast-webhook-primary-waiting"]["AlarmDescription"]
    assert waiting.startswith("webhook:primary: events have waited for over 15 minutes: ")
    assert waiting.endswith(
        "First run: bucketcast --stack Bucketcast doctor. Then see docs/operations.md#-waiting"
    )
    dead = made["Bucketcast-ingress-dead"]["AlarmDescription"]
    assert dead == (
        "ingress: there are dead letters. First run: bucketcast --stack Bucketcast dlq ls ingress. "
        "Then see docs/operations.md#-dead"
    )


@pytest.mark.parametrize("name", QUEUES)
def test_alarms_read_the_metrics_of_their_queues(typical: Synthesised, name: str) -> None:
    made = {part: alarms(typical)[f"Bucketcast-{name}-{part}"] for part in ("dead", "waiting")}
    seen = {
        part: [
            (metric["MetricName"], _queue(typical, dimension["Value"]))
            for metric in metrics(each)
            for dimension in metric["Dimensions"]
        ]
        for part, each in made.items()
    }
    assert seen == {
        "dead": [("ApproximateNumberOfMessagesVisible", f"Bucketcast-{name}-dead")],
        "waiting": [
            ("OldestEventAge", f"Bucketcast-{name}"),
            ("ApproximateAgeOfOldestMessage", f"Bucketcast-{name}"),
        ],
    }
    assert {part: each["Threshold"] for part, each in made.items()} == {"dead": 0, "waiting": 900}


def _queue(found: Synthesised, value: dict[str, Any]) -> str:
    (logical_id, _) = value["Fn::GetAtt"]
    return str(found.json["Resources"][logical_id]["Properties"]["QueueName"])


def test_waiting_alarm_fires_by_either_metric(typical: Synthesised) -> None:
    """Ours is missing while all is well or nothing runs, SQS's after six hours without events."""
    (expression, *looked_at) = alarms(typical)["Bucketcast-webhook-primary-waiting"]["Metrics"]
    ids = [each["Id"] for each in looked_at]
    assert expression["Expression"] == f"MAX([FILL({ids[0]}, 0), FILL({ids[1]}, 0)])"
    assert [each["ReturnData"] for each in (expression, *looked_at)] == [True, False, False]
    assert {each["MetricStat"]["Stat"] for each in looked_at} == {"Maximum"}


@pytest.mark.parametrize("function", ["webhook-primary", "ingest"])
def test_waiting_alarm_reads_the_metric_that_functions_write(
    typical: Synthesised,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    function: str,
) -> None:
    """CloudWatch takes a metric with one dimension more for another metric."""
    name = {"ingest": "ingress"}.get(function, function)
    variables = typical.function(f"Bucketcast-{function}")["Environment"]["Variables"]
    setting = "POWERTOOLS_METRICS_NAMESPACE"
    monkeypatch.setenv(setting, variables[setting])
    telemetry.report_age(f"Bucketcast-{name}", 1_000)
    written = json.loads(capsys.readouterr().out)
    (described,) = written["_aws"]["CloudWatchMetrics"]
    (metric,) = described["Metrics"]
    (dimensions,) = described["Dimensions"]
    ours, _ = metrics(alarms(typical)[f"Bucketcast-{name}-waiting"])
    assert (ours["Namespace"], ours["MetricName"]) == (described["Namespace"], metric["Name"])
    assert {each["Name"]: _queue(typical, each["Value"]) for each in ours["Dimensions"]} == {
        key: written[key] for key in dimensions
    }


@pytest.mark.parametrize("ending", queue_alarm_names(""))
def test_operations_page_explains_each_alarm(ending: str) -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    _, heading, section = text.partition(f"### `…{ending}`\n")
    assert heading, "no section has this heading"
    meaning, _, cure = section.partition("\n#")[0].partition("**Do.**")
    assert meaning.strip()
    assert cure.strip()


def test_waiting_alarm_persists_between_two_attempts(typical: Synthesised) -> None:
    """A message comes back after 15 minutes at the longest, and only then is its age reported."""
    made = alarms(typical)["Bucketcast-webhook-primary-waiting"]
    assert made["DatapointsToAlarm"] == 1
    (period,) = {each["MetricStat"]["Period"] for each in made["Metrics"][1:]}
    assert period * made["EvaluationPeriods"] > 15 * 60
    assert made["TreatMissingData"] == "notBreaching"


def test_every_alarm_notifies_the_topic_when_it_fires(make: Make) -> None:
    """Not when it is over: a new alarm would say so on the first deploy."""
    found = alarms(make(f"{HOOK}[alarms]\ntopic = '{TOPIC}'\n{PIPELINE}"))
    assert all(each["AlarmActions"] == [TOPIC] for each in found.values())
    assert not any("OKActions" in each for each in found.values())
    assert len(found) == 2 * 2 + 2, "two a queue, one of lost runs, one of buckets"


def test_email_gets_an_encrypted_topic_that_cloudwatch_may_use(make: Make) -> None:
    found = make(f"{HOOK}[alarms]\nemail = 'ops@example.org'\n")
    ((topic, made),) = found.of_type("AWS::SNS::Topic").items()
    ((key, key_properties),) = found.of_type("AWS::KMS::Key").items()
    assert all(each["AlarmActions"] == [{"Ref": topic}] for each in alarms(found).values())
    subscription = found.properties("AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.org")
    assert made["Properties"]["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert key_properties["Properties"]["EnableKeyRotation"] is True
    policies = [
        statement
        for document in (
            key_properties["Properties"]["KeyPolicy"],
            *(each["PolicyDocument"] for each in found.properties_of("AWS::SNS::TopicPolicy")),
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
def test_deploy_warns_if_alarms_have_no_recipient(make: Make, table: str, count: int) -> None:
    found = Annotations.from_stack(make(HOOK + table).stack)
    warnings = found.find_warning("*", Match.string_like_regexp("alarms notify no one"))
    assert len(warnings) == count


def test_a_local_stack_has_no_alarms(make: Make) -> None:
    local = make(HOOK, local=True)
    assert alarms(local) == {}
    found = Annotations.from_stack(local.stack)
    assert not found.find_warning("*", Match.string_like_regexp("alarms notify no one"))


def test_failed_jobs_raise_an_alarm(make: Make) -> None:
    found = make(HOOK + PIPELINE)
    ((queue, made),) = [
        (name, each["Properties"])
        for name, each in found.of_type("AWS::SQS::Queue").items()
        if each["Properties"]["QueueName"] == "Bucketcast-pipeline-dead"
    ]
    assert made["MessageRetentionPeriod"] == 14 * 24 * 3600
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    (metric,) = metrics(alarms(found)["Bucketcast-pipeline-dead"])
    (dimension,) = metric["Dimensions"]
    assert dimension == {"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}
    runs = found.properties("AWS::Events::Rule", Name="Bucketcast-runs")
    assert runs["EventPattern"]["detail-type"] == ["Glue Job State Change"]
    assert runs["EventPattern"]["detail"] == {
        "jobName": ["Bucketcast-scan", "Bucketcast-backfill", "Bucketcast-reconcile"],
        "state": ["FAILED", "TIMEOUT", "ERROR"],
    }
    assert [each["Arn"] for each in runs["Targets"]] == [arn]
    schedule = found.properties("AWS::Scheduler::Schedule")
    assert schedule["Target"]["DeadLetterConfig"] == {"Arn": arn}
    report = found.properties("AWS::Events::Rule", Name="Bucketcast-report-archive")
    assert report["Targets"][0]["DeadLetterConfig"] == {"Arn": arn}
    configs = found.properties_of("AWS::Lambda::EventInvokeConfig")
    failures = [each.get("DestinationConfig") for each in configs]
    assert {"OnFailure": {"Destination": arn}} in failures
    writers = [name for name, each in found.statements() if each["Resource"] == arn]
    assert len(writers) == 2
