"""`bucketcast bucket attach`, `detach` and `ls` on buckets that belong to somebody."""

import json
import time
from typing import Any
from unittest.mock import Mock

import pytest

from bucketcast.notifications.aws.cutover import Cutovers
from bucketcast.notifications.document import LATEST
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from tests.unit.conftest import Run, Watch, cells
from tests.unit.moto_aws import (
    ENTRY,
    INGRESS_ARN,
    TABLE,
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
        "arn:aws:events:us-east-1:123456789012:rule/Bucketcast-attached-*",
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


def sure(aws: MotoAws, bucket: str = "archive") -> str:
    """Return the time of the cutover, as the command prints it."""
    switch = Cutovers(TABLE, aws.dynamodb).of(bucket)
    assert switch is not None
    return switch.when


def later(aws: MotoAws) -> None:
    """Let the time pass after which S3 heeds it."""
    switches = Cutovers(TABLE, aws.dynamodb)
    switch = switches.of("uploads")
    assert switch is not None
    assert 500 < switch.effective_at - time.time() <= 600
    switches.put("uploads", switch._replace(effective_at=switch.effective_at - 600))


def others(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "QueueConfigurations"}


def test_attach_adds_one_entry_and_prints_what_stays(run: Run, put: Mock, aws: MotoAws) -> None:
    ran = run("bucket", "attach", "archive")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Successfully attached archive via sqs",
        "  added the notification entry 'Bucketcast-ingress'",
        f"  takes effect in S3 by {sure(aws)}",
        f"  unchanged: 'audit' to {AUDIT}: s3:Older:*, s3:Other",
    ]
    assert ours("archive") == [INGRESS_ARN]
    assert others(notification("archive")) == THEIRS
    assert put.call_args.kwargs["ExpectedBucketOwner"] == "123456789012"
    assert put.call_args.kwargs["SkipDestinationValidation"] is False


def test_attach_again_changes_nothing(run: Run, put: Mock) -> None:
    run("bucket", "attach", "uploads")
    document = run("bucket", "attach", "uploads", "--json").document
    assert (document["changed"], document["via"]) == ([], "sqs")
    assert put.call_count == 1
    assert "already attached" in run("bucket", "attach", "uploads").out


def test_attached_without_the_latest_events_is_attached(run: Run) -> None:
    """A region may not know them."""
    run("bucket", "attach", "uploads")
    earlier = [event for event in ENTRY["Events"] if event not in LATEST]
    notify("uploads", QueueConfigurations=[{**ENTRY, "Events": earlier}])
    (row,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (row["via"], row["part"], row["why"]) == ("sqs", None, "")


def test_attach_then_detach_leaves_the_bucket_as_it_was(run: Run, put: Mock) -> None:
    run("bucket", "attach", "archive")
    document = run("bucket", "detach", "archive", "--json").document
    assert document["changed"] == ["removed the notification entry 'Bucketcast-ingress'"]
    assert notification("archive") == THEIRS
    # A destination of theirs that is gone must not keep our entry in.
    assert put.call_args.kwargs["SkipDestinationValidation"] is True


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
def test_change_of_transport_keeps_the_old_one_until_the_cutover(
    run: Run, aws: MotoAws, first: str, then: str
) -> None:
    run("bucket", "attach", "uploads", "--via", first)
    ran = run("bucket", "attach", "uploads", "--via", then)
    for _ in range(2):
        assert ran.code == 0
        again = f"attach it again after {sure(aws, 'uploads')}"
        assert f"the old and the new entry are both active: {again}" in ran.out
        assert ours("uploads") == [INGRESS_ARN]
        assert RULE in event_patterns()
        (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
        assert (seen["via"], seen["both"]) == (then, True)
        assert f"still by the old entry: {again}" in run("bucket", "ls").out
        ran = run("bucket", "attach", "uploads", "--via", then)
    later(aws)
    document = run("bucket", "attach", "uploads", "--via", then, "--json").document
    assert document["both"] is False
    assert bool(ours("uploads")) == (then == "sqs")
    assert (RULE in event_patterns()) == (then == "eventbridge")
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (seen["via"], seen["both"]) == (then, False)


def test_cutting_over_and_back_at_once_removes_no_transport(run: Run, aws: MotoAws) -> None:
    run("bucket", "attach", "uploads")
    later(aws)
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    # The entry never went, but S3 may have been told of the change already.
    ran = run("bucket", "attach", "uploads")
    assert "the old and the new entry are both active" in ran.out
    assert (ours("uploads"), list(event_patterns())) == ([INGRESS_ARN], [RULE])


def test_without_a_delay_the_old_transport_is_removed_at_once(run: Run, aws: MotoAws) -> None:
    aws.outputs["TakesEffect"] = "0"
    run("bucket", "attach", "uploads")
    document = run("bucket", "attach", "uploads", "--via", "eventbridge", "--json").document
    assert document["both"] is False
    assert ours("uploads") == []


def test_detach_before_the_cutover_removes_both_transports(run: Run, aws: MotoAws) -> None:
    run("bucket", "attach", "uploads")
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    assert run("bucket", "detach", "uploads").code == 0
    assert (ours("uploads"), event_patterns()) == ([], {})
    assert Cutovers(TABLE, aws.dynamodb).of("uploads") is None


def test_refusal_of_s3_changes_nothing(run: Run, put: Mock) -> None:
    put.side_effect = refusal("InvalidArgument: Unable to validate", "Put")
    ran = run("bucket", "attach", "archive")
    assert ran.code == 1
    assert "must be in us-east-1; archive is as it was" in ran.err
    assert run("bucket", "attach", "uploads", "--via", "eventbridge").code == 1
    assert notification("archive") == THEIRS
    assert event_patterns() == {}


@pytest.mark.parametrize(("via", "service"), [("sqs", "s3"), ("eventbridge", "events")])
def test_queue_policy_that_refuses_the_events_is_reported(
    run: Run, put: Mock, aws: MotoAws, via: str, service: str
) -> None:
    admit(aws, [one for one in POLICY if service not in one["Principal"]["Service"]])
    ran = run("bucket", "attach", "uploads", "--via", via)
    assert ran.code == 1
    assert f"does not let {service}.amazonaws.com write" in ran.err
    assert not put.called


@pytest.mark.parametrize("word", ["attach", "detach"])
def test_a_bucket_of_the_deploy_is_changed_by_the_deploy(
    run: Run, put: Mock, aws: MotoAws, word: str
) -> None:
    aws.outputs["Attachmentsuploads"] = json.dumps({"bucket": "uploads", "via": "eventbridge"})
    ran = run("bucket", word, "uploads")
    assert ran.code == 1
    assert "[bucket.uploads] in bucketcast.toml" in ran.err
    assert not put.called


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_the_rule_that_a_deploy_left_can_be_removed(run: Run, aws: MotoAws, via: str) -> None:
    """Else each event of a bucket that the deploy took over would come twice for ever."""
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    aws.outputs["Attachmentsuploads"] = json.dumps({"bucket": "uploads", "via": via})
    if via == "sqs":
        notify("uploads", EventBridgeConfiguration={}, QueueConfigurations=[ENTRY])
    before = notification("uploads")
    cure = "also by `bucket attach`: remove that with `bucketcast bucket detach uploads`"
    assert cure in run("bucket", "ls").out
    early = run("bucket", "detach", "uploads")
    assert (early.code, list(event_patterns())) == (1, [RULE])
    assert f"applies that by {sure(aws, 'uploads')}" in early.err
    later(aws)
    document = run("bucket", "detach", "uploads", "--json").document
    assert document["changed"] == [f"removed the EventBridge rule {RULE}"]
    assert (event_patterns(), notification("uploads")) == ({}, before)
    (seen,) = run("bucket", "ls", "uploads", "--json").document["buckets"]
    assert (seen["via"], seen["by_deploy"], seen["both"]) == (via, True, False)
    assert run("bucket", "detach", "uploads").code == 1


def test_detaching_what_is_not_attached_fails(run: Run, put: Mock) -> None:
    ran = run("bucket", "detach", "archive", "--json")
    assert ran.code == 1
    assert "archive is not attached" in ran.document["error"]
    assert not put.called


def test_a_missing_bucket_is_reported(run: Run) -> None:
    ran = run("bucket", "attach", "nowhere")
    assert ran.code == 1
    assert "NoSuchBucket" in ran.err


def test_detach_says_what_rules_stay(run: Run, aws: MotoAws) -> None:
    Rules(TABLE, aws.dynamodb).add(
        Rule(bucket="uploads", arn="arn:minio:sqs::primary:webhook", events=("s3:Scanner:*",))
    )
    run("bucket", "attach", "uploads")
    assert "1 rules of uploads stay" in run("bucket", "detach", "uploads").err
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert (seen["bucket"], seen["rules"], seen["via"]) == ("uploads", 1, None)
    assert ours("uploads") == []


def test_ls_shows_transports_and_other_entries(run: Run, aws: MotoAws) -> None:
    run("bucket", "attach", "archive")
    run("bucket", "attach", "photos", "--via", "eventbridge")
    logged = ["s3:ObjectAccessed:Get", "s3:ObjectAccessed:Head"]
    uploads = {"bucket": "uploads", "via": "eventbridge", "access_events": logged}
    aws.outputs["Attachmentsuploads"] = json.dumps(uploads)
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
            {"QueueConfigurations": [{**ENTRY, "Events": ["s3:Scanner:*"]}]},
            "our entry is changed",
        ),
    ],
)
def test_status_shows_half_attached_buckets(run: Run, spoil: dict[str, Any], expected: str) -> None:
    run("bucket", "attach", "uploads", "--via", "eventbridge")
    notify("uploads", **spoil)
    assert expected in run("bucket", "ls", "uploads").out
    assert "NoSuchBucket" in run("bucket", "ls", "nowhere").out


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
    rule_text = "s3:ObjectCreated:* (prefix 'out/') (suffix '.jpg')"
    assert f"Successfully attached photos via sqs: {rule_text}" in ran.out
    document = notification("photos")
    (entry,) = document["QueueConfigurations"]
    assert entry["Events"] == ["s3:ObjectCreated:*"]
    assert entry["Filter"]["Key"]["FilterRules"] == [
        {"Name": "prefix", "Value": "out/"},
        {"Name": "suffix", "Value": ".jpg"},
    ]
    assert others(document) == THUMBS
    assert f"via sqs: {rule_text}" in run("bucket", "ls", "photos").out
    (seen,) = run("bucket", "ls", "photos", "--json").document["buckets"]
    wanted = {"events": ["s3:ObjectCreated:*"], "prefix": "out/", "suffix": ".jpg"}
    assert (seen["via"], seen["part"]) == ("sqs", wanted)
    ran = run("event", "add", "photos", "arn:minio:sqs::primary:webhook", "--event", "put")
    assert f"note: bucket photos is connected for a part only: {rule_text}" in ran.err
    assert "already attached" in run(*words, "out/", "--suffix", ".jpg").out
    assert notification("photos") == document
    assert run("bucket", "detach", "photos").code == 0
    assert notification("photos") == THUMBS


def test_a_part_becomes_all_and_all_a_part(run: Run) -> None:
    assert run("bucket", "attach", "uploads", "--event", "delete").code == 0
    assert "replaced the notification entry" in run("bucket", "attach", "uploads").out
    assert "via sqs" in run("bucket", "ls", "uploads").out
    assert run("bucket", "ls", "uploads", "--json").document["buckets"][0]["part"] is None
    assert run("bucket", "attach", "uploads", "--prefix", "a/").code == 0
    assert len(ours("uploads")) == 1
    assert "via sqs: all events (prefix 'a/')" in run("bucket", "ls", "uploads").out


def test_part_is_kept_until_the_cutover_to_eventbridge(run: Run, aws: MotoAws) -> None:
    assert run("bucket", "attach", "uploads", "--event", "put").code == 0
    later(aws)
    assert "attach it again after" in run("bucket", "attach", "uploads", "--via", "eventbridge").out
    assert len(ours("uploads")) == 1
    assert "and still by the old entry" in run("bucket", "ls", "uploads").out
    later(aws)
    assert run("bucket", "attach", "uploads", "--via", "eventbridge").code == 0
    assert ours("uploads") == []
    assert run("bucket", "ls", "uploads", "--json").document["buckets"][0]["part"] is None


def test_attach_again_after_a_crash_before_the_cutover_is_stored(run: Run, aws: MotoAws) -> None:
    """The entry is in S3, and what was asked for before is in the table."""
    assert run("bucket", "attach", "uploads").code == 0
    before = Cutovers(TABLE, aws.dynamodb).of("uploads")
    assert before is not None
    assert run("bucket", "attach", "uploads", "--event", "put").code == 0
    Cutovers(TABLE, aws.dynamodb).put("uploads", before)
    assert "our entry is changed: attach again" in run("bucket", "ls", "uploads").out
    assert run("bucket", "attach", "uploads", "--event", "put").code == 0
    assert "via sqs: s3:ObjectCreated:*" in run("bucket", "ls", "uploads").out
    assert len(ours("uploads")) == 1


def test_part_of_a_deployed_bucket_is_refused(run: Run, aws: MotoAws) -> None:
    aws.outputs["Attachmentsuploads"] = json.dumps({"bucket": "uploads", "via": "sqs"})
    ran = run("bucket", "attach", "uploads", "--event", "put")
    assert ran.code == 1
    assert "uploads is attached by the deploy" in ran.err
    assert notification("uploads") == {}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--event", "get"], "S3 does not notify of s3:ObjectAccessed:*; allowed are"),
        (["--prefix", "a/", "--via", "eventbridge"], "are for --via sqs"),
    ],
)
def test_a_part_that_cannot_be_is_misuse(run: Run, words: list[str], expected: str) -> None:
    ran = run("bucket", "attach", "uploads", *words)
    assert ran.code == 2
    assert expected in ran.err
    assert notification("uploads") == {}
