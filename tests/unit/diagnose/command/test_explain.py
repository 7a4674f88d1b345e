"""`bucketcast explain`: the reason of each rule, and the very bytes."""

from typing import Any

import pytest

from bucketcast import sources
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.shapes import minio
from tests.unit.conftest import Run
from tests.unit.moto_aws import ENTRY, POSTGRES, WEBHOOK, MotoAws, configure, notify
from tests.unit.samples import RECORDED, recorded

PUT = RECORDED / "s3" / "put-2.1.json"


@pytest.fixture(autouse=True)
def settings(aws: MotoAws) -> None:  # noqa: ARG001 - has the functions
    url, token = "https://example.org/hook", "secret:hook"
    configure("Bucketcast-webhook-primary", endpoint=url, auth_token=token)
    configure("Bucketcast-postgres-main", connection_string="secret:db", table="events")


def add(aws: MotoAws, *conditions: Condition, arn: str = WEBHOOK, **more: Any) -> Rule:
    fields = {"bucket": "uploads", "events": ("s3:ObjectCreated:*",), **more}
    rule = Rule(arn=arn, conditions=conditions, **fields)
    aws.rules.add(rule)
    return rule


def when(on: str, how: Any, *values: str, unless: bool = False) -> Condition:
    return Condition(on=on, how=how, values=values, unless=unless)


NOT_RED = when("metadata:x-amz-meta-team", "equals", "red", unless=True)
PUBLIC = when("tag:class", "equals", "public")


def test_an_event_that_the_bucket_does_not_send_is_said(run: Run) -> None:
    """Though a rule matches it."""
    narrow = {**ENTRY, "Events": ["s3:ObjectCreated:*"]}
    notify("uploads", QueueConfigurations=[narrow])
    words = ("explain", "s3://uploads/a", "--event")
    assert "S3 sends only" in run(*words, "s3:ObjectRemoved:Delete").err
    assert "S3 sends only" not in run(*words, "put").err


@pytest.mark.parametrize(
    ("given", "condition", "because"),
    [
        ("--event get", None, "the event is s3:ObjectAccessed:Get"),
        ("--size 2048", when("size", "range", "1MiB-"), "size is 2048; the rule asks for size"),
        ("--tag class=private", PUBLIC, "tag:class is 'private'; the rule asks for"),
        ("--metadata Team=red", NOT_RED, "asks for not metadata:x-amz-meta-team is 'red'"),
        ("--source-ip 192.0.2.1", when("source_ip", "cidr", "10.0.0.0/8"), "is '192.0.2.1'"),
    ],
)
def test_rule_that_does_not_match_gives_its_reason(
    run: Run, aws: MotoAws, given: str, condition: Condition | None, because: str
) -> None:
    rule = add(aws, *([condition] if condition else []))
    words = ("s3://uploads/photos/cat.jpg", "--event", "put", *given.split())
    document = run("explain", *words, "--json").document
    (answer,) = document["rules"]
    assert (answer["id"], answer["target"], answer["matched"]) == (rule.id, WEBHOOK, False)
    assert because in answer["because"]
    assert document["deliveries"] == []


def test_rule_that_may_match_says_what_is_unknown(run: Run, aws: MotoAws) -> None:
    add(aws)
    add(aws, PUBLIC)
    document = run("explain", "s3://uploads/cat.jpg", "--event", "put", "--json").document
    assert {(each["matched"], each["because"]) for each in document["rules"]} == {
        (True, ""),
        (True, "taken as met, as the values are unknown: tag:class is 'public'"),
    }
    assert len(document["deliveries"]) == 1


def test_document_has_the_exact_bytes_and_headers(run: Run, aws: MotoAws) -> None:
    add(aws)
    add(aws, arn=POSTGRES)
    ran = run("explain", str(PUT), "--json")
    (event,) = sources.events(recorded("s3/put-2.1"))
    assert ran.document["events"] == [
        {"name": event.name, "bucket": event.bucket, "key": event.key, "id": event.id}
    ]
    hook = next(each for each in ran.document["deliveries"] if each["target"] == WEBHOOK)
    table = next(each for each in ran.document["deliveries"] if each["target"] == POSTGRES)
    assert hook["body"].encode() == minio.log(event)
    assert hook["event"] == table["event"] == event.id
    assert hook["headers"]["webhook-id"] == event.id
    assert table["body"].encode() == minio.records(event)
    assert "secret" not in ran.out


def test_output_shows_each_rule_and_message(run: Run, aws: MotoAws) -> None:
    add(aws, prefix="films/")
    add(aws, prefix="photos/")
    add(aws, arn="arn:minio:sqs::gone:webhook")
    ran = run("explain", str(PUT))
    assert "webhook:gone is not deployed" in ran.said(0)
    assert "s3:ObjectCreated:Put of s3://uploads/photos/cat.jpg" in ran.out
    assert "does not begin with 'films/'" in ran.out
    assert "to webhook:primary" in ran.out
    assert '"EventName":"s3:ObjectCreated:Put"' in ran.out


def test_an_event_that_no_trail_logs_is_reported(run: Run, aws: MotoAws) -> None:
    add(aws, events=("s3:ObjectAccessed:*",))
    head = ("explain", "s3://uploads/a", "--event", "s3:ObjectAccessed:Head")
    ran = run(*head, "--json")
    assert [answer["matched"] for answer in ran.document["rules"]] == [True]
    (hint,) = ran.document["not_logged"]
    assert 'put access_events = ["head"] into [bucket.uploads]' in hint
    assert f"note: {hint}" in run(*head).err
    of_a_trail = RECORDED / "cloudtrail" / "head-object.json"
    assert run("explain", str(of_a_trail), "--json").document["not_logged"] == []


def test_a_bucket_without_rules_is_reported(run: Run) -> None:
    assert run("explain", str(PUT)).said(0) == "uploads has no rules\n"


def test_all_events_of_a_file_are_explained(run: Run, aws: MotoAws) -> None:
    add(aws, events=("s3:ObjectRemoved:*",))
    path = RECORDED / "s3" / "multi-delete-three-records.json"
    document = run("explain", str(path), "--json").document
    assert len(document["events"]) == len(document["rules"]) == len(document["deliveries"]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["s3://uploads/a"], 2, "--event is missing"),
        ([str(PUT), "--size", "5"], 2, "--size is allowed with s3://BUCKET/KEY only"),
        ([str(PUT), "--tag", "a=b"], 2, "--tag is allowed with s3://BUCKET/KEY only"),
        ([str(RECORDED / "README.md")], 1, "not a JSON object"),
        ([str(RECORDED / "s3" / "test-event.json")], 1, "contains no object event"),
    ],
)
def test_invalid_input_is_refused(run: Run, arguments: list[str], code: int, expected: str) -> None:
    assert expected in run("explain", *arguments).said(code)
