"""What an update of a deployed stack must find again by its logical id.

CloudFormation makes what has another id anew before it removes the old one. Where the name is taken
the update fails. Where it is not, the old one's removal undoes the new one: a queue's policy is
cleared, and a bucket's notification entry is taken out. These ids were deployed; new ones may be
added.
"""

import pytest

from tests.infra.conftest import Make

WHOLE = """
control = "on"
[bucket.made]
create = true
access_events = "on"
[bucket.found]
create = false
via = "eventbridge"
[notify_webhook.one]
endpoint = "https://example.org/hook"
[runtime]
kinds = "webhook"
[entry.minio]
token = "secret:entry"
dialect = "minio"
buckets = "*"
[pipeline]
[scan.made]
schedule = "rate(1 day)"
[scan.found]
source = "s3://inventories/found/weekly"
on = "inventory"
[alarms]
email = "ops@example.org"
"""

DEPLOYED = {
    "AWS::CloudTrail::Trail": {"AccessTrailEE7EB5A7"},
    "AWS::DynamoDB::Table": {"IngestRules533EA1B2"},
    "AWS::Events::Rule": {
        "LostRunsD823C24A",
        "ScansReportfound3AB2DD98",
        "WiringfoundRule30C6AF3D",
        "WiringmadeAccessRule4685DDA3",
    },
    "AWS::Glue::Job": {
        "PipelinebackfillJob87723D35",
        "PipelinereconcileJob75A06908",
        "PipelinescanJobA0067DE9",
    },
    "AWS::KMS::Key": {"PagerKey0C26D873"},
    "AWS::Lambda::EventSourceMapping": {
        "IngestFunctionSqsEventSourceBucketcastIngestIngressQueueE526D5197A3071D4",
        "RuntimewebhookFunctionSqsEventSourceBucketcastRuntimewebhookonceQueueBE720AEF47E72EF5",
        "TargetwebhookoneDispatchFunctionSqsEventSourceBucketcastTargetwebhookoneQueuesQueue1DBA958B1F24D6BC",
    },
    "AWS::Lambda::Function": {
        "ControlAnswerFunction6D7ECE77",
        "EntryTakeFunctionCC341F7E",
        "IngestFunction7FD6BA1A",
        "RuntimewebhookFunctionA15C4AF6",
        "ScansStartFunctionE72F0EEB",
        "TargetwebhookoneDispatchFunction2E83DF77",
        "WiringWireFunctionCBCFC309",
    },
    "AWS::Lambda::Url": {
        "ControlAnswerFunctionFunctionUrl4F37C452",
        "EntryTakeFunctionFunctionUrlC835F047",
    },
    "AWS::S3::Bucket": {"AccessLog22866381", "PipelineBucket5BC3F8EA", "WiringmadeBucketC9534647"},
    "AWS::S3::BucketPolicy": {
        "AccessLogPolicy3B983188",
        "PipelineBucketPolicy5F75DE89",
        "WiringmadeBucketPolicyE034483F",
    },
    "AWS::SNS::Subscription": {"PagerTopicopsexampleorg6C40BD86"},
    "AWS::SNS::Topic": {"PagerTopic86343D3D"},
    "AWS::SNS::TopicPolicy": {"PagerTopicPolicy63B635F0"},
    "AWS::SQS::Queue": {
        "IngestIngressDead87A5FDFF",
        "IngestIngressQueue46A9F721",
        "LostQueue34311BD6",
        "RuntimewebhookonceQueue9CA5236D",
        "TargetwebhookoneQueuesDeadA06A3D81",
        "TargetwebhookoneQueuesQueueC7BC4591",
    },
    "AWS::SQS::QueuePolicy": {
        "IngestIngressDeadPolicy51D5B6D9",
        "IngestIngressQueuePolicy859C9E60",
        "LostQueuePolicyC9757C7B",
        "RuntimewebhookonceQueuePolicy134DF06F",
        "TargetwebhookoneQueuesDeadPolicyB2DD4127",
        "TargetwebhookoneQueuesQueuePolicyC0607FE7",
    },
    "AWS::Scheduler::Schedule": {"ScansOnmade83CC59D2"},
    "Custom::BucketNotification": {
        "WiringReportsinventoriesNotificationD12FB102",
        "WiringfoundNotificationF1143B10",
        "WiringmadeNotificationCF95BBE4",
    },
    "Custom::Targets": {"WiringTargetsAfterCDA6A779", "WiringTargetsBeforeAFF66626"},
}
NESTED = {
    "NestedAlarmsNestedStackAlarmsNestedStackResource6986E170",
    "NestedJobsNestedStackJobsNestedStackResource485F9289",
    "NestedRulesNestedStackRulesNestedStackResource1947D25A",
    "NestedStartsNestedStackStartsNestedStackResource7B4125AA",
    "NestedTargets0NestedStackTargets0NestedStackResource41C52C2D",
}
OUTPUTS = {
    "AccessTrail",
    "AlarmTopic",
    "ControlUrl",
    "EntryUrl",
    "IngressQueueUrl",
    "ObjectFacts",
    "PipelineOutput93895185",
    "RulesTable",
    "RuntimeOutputA30BF790",
    "TakesEffect",
    "TargetwebhookoneOutput1D8E5805",
    "WiringfoundOutputA0B689BE",
    "WiringmadeOutput4C6038D5",
}


@pytest.mark.parametrize("kind", DEPLOYED)
def test_an_update_keeps_what_earlier_releases_deployed(make: Make, kind: str) -> None:
    assert set(make(WHOLE).of_type(kind)) >= DEPLOYED[kind]


def test_an_update_keeps_the_nested_stacks(make: Make) -> None:
    found = make(f'nested = "on"\n{WHOLE}')
    assert set(found.of_type("AWS::CloudFormation::Stack")) >= NESTED


def test_an_update_keeps_the_outputs_that_the_command_line_reads(make: Make) -> None:
    assert set(make(WHOLE).json["Outputs"]) >= OUTPUTS


def test_an_update_keeps_the_function_that_custom_resources_call(make: Make) -> None:
    """CloudFormation refuses to change it, and by another name it is another function."""
    found = make(WHOLE)
    tokens = {
        each["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
        for kind in ("Custom::BucketNotification", "Custom::Targets")
        for each in found.of_type(kind).values()
    }
    (function,) = tokens
    called = found.of_type("AWS::Lambda::Function")[function]["Properties"]["FunctionName"]
    assert called == "Bucketcast-wiring"
