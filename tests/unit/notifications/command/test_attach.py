"""`bucketcast bucket attach`, `detach` and `ls` on buckets that belong to somebody."""

import json
import time
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from bucketcast.notifications.aws.attachment_times import AttachmentTimes
from bucketcast.notifications.document import part_of
from bucketcast.notifications.eventbridge import event_pattern
from bucketcast.rules import Rule
from bucketcast.rules.sent_events import Part, notified_events
from tests.unit.conftest import Run, Watch, cells
from tests.unit.moto_aws import (
    ENTRY,
    INGRESS_ARN,
    TABLE,
    WEBHOOK,
    MotoAws,
    event_patterns,
    make_bucket,
    notification,
    notify,
    refusal,
)

AUDIT = "arn:aws:sns:us-east-1:123456789012:audit"
THUMBNAILER = "arn:aws:lambda:us-east-1:123456789012:function:thumbs"
RULE = "Bucketcast-attached-uploads"
DEPLOYED_RULE = "Bucketcast-bucket-uploads"
THEIRS = {
    "TopicConfigurations": [
        {"Id": "audit", "TopicArn": AUDIT, "Events": ["s3:Older:*", "s3:Other"]}
    ],
    "EventBridgeConfiguration": {},
}
THUMBS = {
    "LambdaFunctionConfigurations": [
        {
            "Id": "thumbs",
            "LambdaFunctionArn": THUMBNAILER,
            "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}]}},
        }
    ]
}


def statement(service: str, source: str) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sqs:SendMessage",
        "Resource": INGRESS_ARN,
        "Condition": {"ArnLike": {"aws:SourceArn": source}},
    }


POLICY = [
    statement("s3.amazonaws.com", "arn:aws:s3:::*"),
    statement(
        "events.amazonaws.com",
        "arn:aws:events:us-east-1:123456789012:rule/Bucketcast-*",
    ),
]


@pytest.fixture(autouse=True)
def buckets(aws: MotoAws) -> None:
    """Three buckets that are not attached yet, two of which have entries of others."""
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    admit(aws, POLICY)
    notify("uploads")
    make_bucket("archive", **THEIRS)
    make_bucket("photos", **THUMBS)


@pytest.fixture
def put(aws: MotoAws, watch: Watch) -> Mock:
    """Every write of a bucket's notifications."""
    return watch(aws.s3, "put_bucket_notification_configuration")


def admit(aws: MotoAws, statements: list[dict[str, Any]]) -> None:
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    url = aws.queue("Bucketcast-ingress")
    aws.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})


def ours(bucket: str) -> list[str]:
    entries = notification(bucket).get("QueueConfigurations", [])
    return [each["QueueArn"] for each in entries if each["Id"] == "Bucketcast-ingress"]


def when(aws: MotoAws, bucket: str = "archive") -> str:
    """Return the time since when S3 applies what was attached, as the command prints it."""
    return AttachmentTimes(TABLE, aws.dynamodb).of(bucket).when


def later(aws: MotoAws) -> None:
    """Let the time pass after which S3 has applied it."""
    times = AttachmentTimes(TABLE, aws.dynamodb)
    attachment = times.of("uploads")
    assert 500 < attachment.since - time.time() <= 600
    times.put("uploads", attachment._replace(since=attachment.since - 600))


def others(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "QueueConfigurations"}


def test_attach_adds_one_entry_and_prints_what_stays(run: Run, put: Mock, aws: MotoAws) -> None:
    ran = run("bucket", "attach", "archive")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Successfully attached archive via sqs",
        "  added the notification entry 'Bucketcast-ingress'",
        f"  takes effect in S3 by {when(aws)}",
        f"  unchanged: 'audit' to {AUDIT}: s3:Older:*, s3:Other",
    ]
    assert ours("archive") == [INGRESS_ARN]
    assert others(notification("archive")) == THEIRS
    assert put.call_args.kwargs["ExpectedBucketOwner"] == "123456789012"
    assert put.call_args.kwargs["SkipDestinationValidation"] is False


def test_eventbridge_overlaps_with_nothing(run: Run, aws: MotoAws) -> None:
    document = run("bucket", "attach", "photos", "--via", "eventbridge", "--json").document
    name = "Bucketcast-attached-photos"
    assert document["changed"] == [
        f"added the EventBridge rule {name}",
        "made S3 send all events of the bucket to EventBridge",
    ]
    assert notification("photos") == {**THUMBS, "EventBridgeConfiguration": {}}
    assert event_patterns()[name] == {
        "source": ["aws.s3"],
        "detail": {"bucket": {"name": ["photos"]}},
    }
    (target,) = aws.events.list_targets_by_rule(Rule=name)["Targets"]
    assert (target["Arn"], target["DeadLetterConfig"]) == (
        INGRESS_ARN,
        {"Arn": f"{INGRESS_ARN}-dead"},
    )
    assert run("bucket", "detach", "photos").code == 0
    assert event_patterns() == {}
    assert notification("photos") == {**THUMBS, "EventBridgeConfiguration": {}}


@pytest.mark.parametrize(("first", "then"), [("sqs", "eventbridge"), ("eventbridge", "sqs")])
def test_transport_is_changed_by_attaching_and_detaching(
    run: Run, aws: MotoAws, first: str, then: str
) -> None:
    run("bucket", "attach", "uploads", "--via", first)
    assert "events arrive twice" in run("bucket", "attach", "uploads", "--via", then).out
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (seen["via"], seen["both"]) == ("both", True)
    assert "via sqs and eventbridge: events arrive twice" in run("bucket", "ls").out
    early = run("bucket", "detach", "uploads", "--via", first).said(1)
    assert f"an object put before {when(aws, 'uploads')} may cause no event" in early
    assert (ours("uploads"), list(event_patterns())) == ([INGRESS_ARN], [RULE])
    later(aws)
    assert run("bucket", "detach", "uploads", "--via", first).code == 0
    assert bool(ours("uploads")) == (then == "sqs")
    assert (RULE in event_patterns()) == (then == "eventbridge")
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (seen["via"], seen["both"]) == (then, False)
    assert "is not attached" in run("bucket", "detach", "uploads", "--via", first).err
    assert "no other transport in use" in run("bucket", "detach", "uploads", "--via", then).err


def test_detach_without_a_transport_removes_both_at_once(run: Run, aws: MotoAws) -> None:
    run("bucket", "attach", "uploads")
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    assert run("bucket", "detach", "uploads").code == 0
    assert (ours("uploads"), event_patterns()) == ([], {})
    assert not AttachmentTimes(TABLE, aws.dynamodb).of("uploads").since


def test_refusal_of_s3_changes_nothing(run: Run, put: Mock) -> None:
    put.side_effect = refusal("InvalidArgument: Unable to validate", "Put")
    refused = run("bucket", "attach", "archive").said(1)
    assert "must be in us-east-1, and the destination of each other entry must exist" in refused
    assert f"'audit' to {AUDIT}" in refused
    assert refused.endswith("; archive is as it was\n")
    assert run("bucket", "attach", "uploads", "--via", "eventbridge").code == 1
    assert notification("archive") == THEIRS
    assert event_patterns() == {}


@pytest.mark.parametrize(("via", "service"), [("sqs", "s3"), ("eventbridge", "events")])
def test_queue_policy_that_refuses_the_events_is_reported(
    run: Run, put: Mock, aws: MotoAws, via: str, service: str
) -> None:
    admit(aws, [one for one in POLICY if service not in one["Principal"]["Service"]])
    refused = run("bucket", "attach", "uploads", "--via", via).said(1)
    assert f"does not let {service}.amazonaws.com write" in refused
    assert not put.called


@pytest.mark.parametrize(
    ("words", "via"),
    [("attach", "eventbridge"), ("detach", "eventbridge"), ("attach --event put", "sqs")],
)
def test_a_bucket_of_the_deploy_is_changed_by_the_deploy(
    run: Run, put: Mock, aws: MotoAws, words: str, via: str
) -> None:
    aws.attach_by_deploy(via)
    refused = run("bucket", *words.split(), "uploads").said(1)
    assert "[bucket.uploads] in bucketcast.toml" in refused
    assert not put.called


@pytest.mark.parametrize(
    ("attached", "deployed"), [("eventbridge",) * 2, ("eventbridge", "sqs"), ("sqs", "eventbridge")]
)
def test_what_was_attached_beside_a_deploy_can_be_detached(
    run: Run, aws: MotoAws, attached: str, deployed: str
) -> None:
    """Else each event of a bucket that the deploy took over would come twice for ever."""
    run("bucket", "attach", "uploads", "--via", attached)
    deployed_rule(aws, deployed)
    notify(
        "uploads", EventBridgeConfiguration={}, QueueConfigurations=[ENTRY] * (attached != deployed)
    )
    assert "by the deploy: events arrive twice" in run("bucket", "ls").out
    early = run("bucket", "detach", "uploads")
    assert f"an object put before {when(aws, 'uploads')} may cause no event" in early.err
    later(aws)
    assert len(run("bucket", "detach", "uploads", "--json").document["changed"]) == 1
    assert (RULE in event_patterns(), bool(ours("uploads"))) == (False, deployed == "sqs")
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (seen["via"], seen["by_deploy"], seen["both"]) == (deployed, True, False)
    assert "[bucket.uploads] in bucketcast.toml" in run("bucket", "detach", "uploads").err


@pytest.mark.parametrize(("attached", "deployed"), [("eventbridge", "sqs"), ("sqs", "eventbridge")])
def test_what_was_attached_stays_while_what_the_deploy_attached_is_gone(
    run: Run, put: Mock, aws: MotoAws, attached: str, deployed: str
) -> None:
    """Somebody has removed it: the bucket's events would all be lost."""
    run("bucket", "attach", "uploads", "--via", attached)
    aws.attach_by_deploy(deployed)
    later(aws)
    put.reset_mock()
    refused = run("bucket", "detach", "uploads", "--via", attached).said(1)
    assert f"`bucketcast bucket attach uploads --via {deployed}` first" in refused
    assert not put.called
    assert bool(event_patterns()) == (attached == "eventbridge")


def deployed_rule(aws: MotoAws, via: str) -> None:
    """Deploy the bucket uploads, with the rule that a deploy by EventBridge has."""
    aws.attach_by_deploy(via)
    aws.events.put_rule(Name=DEPLOYED_RULE, EventPattern=json.dumps(event_pattern("uploads")))
    aws.events.put_targets(Rule=DEPLOYED_RULE, Targets=[{"Id": "x", "Arn": INGRESS_ARN}])


@pytest.mark.parametrize("word", ["attach", "detach"])
def test_a_missing_bucket_is_reported(run: Run, word: str) -> None:
    missing = run("bucket", word, "nowhere").said(1)
    assert missing == "bucketcast: bucket 'nowhere' does not exist\n"


def test_detach_says_what_rules_stay(run: Run, aws: MotoAws) -> None:
    aws.rules.add(Rule(bucket="uploads", arn=WEBHOOK, events=("s3:Scanner:*",)))
    run("bucket", "attach", "uploads")
    assert "its rules stay" in run("bucket", "detach", "uploads", "--yes").err
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert (seen["bucket"], seen["rules"], seen["via"]) == ("uploads", 1, None)
    assert ours("uploads") == []
    run("bucket", "attach", "uploads")
    aws.rules.change("uploads", lambda rules: [replace(rule, disabled=True) for rule in rules])
    assert run("bucket", "detach", "uploads").code == 0, "no rule gets less"
    assert run("bucket", "ls", "--json").document["buckets"] == []


def test_ls_shows_transports_and_other_entries(run: Run, aws: MotoAws) -> None:
    run("bucket", "attach", "archive")
    run("bucket", "attach", "photos", "--via", "eventbridge")
    logged = ["s3:ObjectAccessed:Get", "s3:ObjectAccessed:Head"]
    aws.attach_by_deploy("eventbridge", access_events=logged)
    notify("uploads", EventBridgeConfiguration={})
    make_bucket("theirs")
    assert cells(run("bucket", "ls").out) == [
        ["BUCKET", "CONNECTED", "ACCESS EVENTS", "RULES", "OTHER NOTIFICATIONS"],
        ["archive", "via sqs", "none", "0", f"'audit' to {AUDIT}: s3:Older:*, s3:Other"],
        [
            "photos",
            "via eventbridge",
            "none",
            "0",
            f"'thumbs' to {THUMBNAILER} (prefix 'in/'): s3:ObjectCreated:*",
        ],
        ["uploads", "via eventbridge, by the deploy", "get, head", "0"],
    ]
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert seen["access_events"] == logged


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        ({}, "S3 sends no events to EventBridge"),
        (
            {"QueueConfigurations": [{**ENTRY, "QueueArn": f"{INGRESS_ARN}-older"}]},
            "our entry is changed",
        ),
    ],
)
def test_status_shows_half_attached_buckets(run: Run, spoil: dict[str, Any], expected: str) -> None:
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    notify("uploads", **spoil)
    assert expected in run("bucket", "ls", "uploads").out
    assert expected in run("bucket", "ls").out, "what cannot be read is not taken for nothing"
    assert "no (bucket 'nowhere' does not exist)" in run("bucket", "ls", "nowhere").out


def test_status_without_buckets_prints_the_hint(run: Run) -> None:
    ran = run("bucket", "ls")
    assert (ran.code, ran.out) == (0, "")
    assert "bucketcast bucket attach BUCKET" in ran.err


def test_a_part_is_attached_beside_the_owner_of_the_rest(run: Run) -> None:
    """Another entry takes what is created below in/: S3 refuses two for one event of a key."""
    assert run("bucket", "attach", "photos").code == 1
    words = ("bucket", "attach", "photos", "--event", "put", "--prefix")
    assert "already takes s3:ObjectCreated:*" in run(*words, "in/raw/").err
    ran = run(*words, "out/", "--suffix", ".jpg")
    put = list(Part.of(notified_events("put")).events)
    rule_text = f"{', '.join(put)} (prefix 'out/') (suffix '.jpg')"
    assert f"Successfully attached photos via sqs: {rule_text}" in ran.out
    document = notification("photos")
    (entry,) = document["QueueConfigurations"]
    assert entry["Events"] == put
    assert entry["Filter"]["Key"]["FilterRules"] == [
        {"Name": "prefix", "Value": "out/"},
        {"Name": "suffix", "Value": ".jpg"},
    ]
    assert others(document) == THUMBS
    assert f"via sqs: {rule_text}" in run("bucket", "ls", "photos").out
    (seen,) = run("bucket", "ls", "photos", "--json").document["buckets"]
    wanted = {"events": put, "prefix": "out/", "suffix": ".jpg"}
    assert (seen["via"], seen["part"]) == ("sqs", wanted)
    add = ("event", "add", "photos", WEBHOOK, "--event", "put")
    refused = run(*add).said(2)
    assert f"of photos S3 sends only {rule_text}: run " in refused
    assert f"`bucketcast bucket attach photos --event '{','.join(put)}'`" in refused
    assert run(*add, "--prefix", "out/a", "--suffix", "1.jpg").code == 0
    assert "already attached" in run(*words, "out/", "--suffix", ".jpg").out
    assert notification("photos") == document
    assert run("bucket", "detach", "photos", "--yes").code == 0
    assert notification("photos") == THUMBS


def test_attaching_less_than_rules_ask_for_is_confirmed(run: Run, aws: MotoAws) -> None:
    raw = {"Key": {"FilterRules": [{"Name": "prefix", "Value": "year=2026/"}]}}
    notify("uploads", QueueConfigurations=[{**ENTRY, "Filter": raw}])
    words = ("bucket", "attach", "uploads", "--prefix", "year=2026/")
    assert run("bucket", "ls", "uploads", "--json").document["buckets"][0]["via"] is None
    assert run(*words).code == 0
    assert part_of(notification("uploads")["QueueConfigurations"][0]).prefix == "year=2026/"
    rule = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectAcl:Put",))
    aws.rules.add(rule)
    assert "--yes" in run(*words, "--event", "put").said(2)
    assert run(*words, "--event", "put", "--yes").code == 0


def test_what_eventbridge_does_not_bring_is_said(run: Run) -> None:
    """Others may have switched it on: without our rule nothing comes."""
    notify("uploads", EventBridgeConfiguration={})
    add = ("event", "add", "uploads", WEBHOOK, "--event")
    assert "is not connected" in run(*add, "delete").err
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    assert "run `bucketcast bucket attach uploads`" in run(*add, "replica").err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--event", "get"], "found 'get'; allowed is what S3 notifies of: s3:Int"),
        (["--prefix", "a/", "--via", "eventbridge"], "are for --via sqs"),
    ],
)
def test_a_part_that_cannot_be_is_misuse(run: Run, words: list[str], expected: str) -> None:
    assert expected in run("bucket", "attach", "uploads", *words).said(2)
    assert notification("uploads") == {}
