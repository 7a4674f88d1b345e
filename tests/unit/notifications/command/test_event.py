import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bucketcast.rules import Rule
from bucketcast.rules.listing import document
from bucketcast.rules.sent_events import Part, notified_events
from tests.unit.conftest import Run, Watch, cells
from tests.unit.moto_aws import POSTGRES, WEBHOOK, MotoAws, make_bucket, notify, refusal

PUT_DELETE = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")


def test_add_puts_a_rule_in_force(run: Run, aws: MotoAws) -> None:
    ran = run(
        *("event", "add", "uploads", WEBHOOK, "--event", "put,delete"),
        *("--prefix", "images/", "--suffix", ".jpg"),
    )
    assert (ran.code, ran.out, ran.err) == (0, "Successfully added webhook:primary\n", "")
    assert aws.rules.of("uploads") == [
        Rule(bucket="uploads", arn=WEBHOOK, events=PUT_DELETE, prefix="images/", suffix=".jpg")
    ]


def test_add_asks_for_put_delete_and_get_by_default(run: Run, aws: MotoAws) -> None:
    run("event", "add", "uploads", WEBHOOK)
    assert aws.rules.of("uploads")[0].events == (*PUT_DELETE, "s3:ObjectAccessed:*")


def test_add_notes_events_that_no_trail_logs(run: Run, aws: MotoAws) -> None:
    get = ("event", "add", "uploads", WEBHOOK, "--event", "get", "--json")
    ran = run(*get, "--prefix", "a/")
    assert 'put access_events = ["get"] into [bucket.uploads]' in ran.document["note"]
    aws.attach_by_deploy(access_events=["s3:ObjectAccessed:Head"])
    assert run(*get, "--prefix", "b/").document["note"] == ""
    get_object = ("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    assert "does not notify of s3:ObjectAccessed:Get" in run(*get_object).err


def test_add_refuses_an_exact_repeat_by_default(run: Run, aws: MotoAws) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "put")
    again = run("event", "add", "uploads", WEBHOOK, "--event", "put").said(1)
    assert "has this rule already" in again
    assert run("event", "add", "uploads", WEBHOOK, "--event", "put", "-p").code == 0
    assert len(aws.rules.of("uploads")) == 1


def test_add_names_the_targets_that_there_are(run: Run, aws: MotoAws) -> None:
    refused = run("event", "add", "uploads", "arn:minio:sqs::primry:webhook").said(1)
    assert "did you mean 'webhook:primary'?" in refused
    assert "postgres:main" in refused
    assert aws.rules.of("uploads") == []


def test_add_notes_a_bucket_that_it_may_not_read(run: Run, aws: MotoAws, watch: Watch) -> None:
    denied = refusal("AccessDenied", "GetBucketNotification")
    watch(aws.s3, "get_bucket_notification_configuration", denied)
    noted = run("event", "add", "uploads", WEBHOOK).said(0)
    assert "cannot check whether uploads is connected" in noted


def test_what_the_bucket_of_a_deploy_does_not_send_is_refused_with_the_line(
    run: Run, aws: MotoAws, tmp_path: Path
) -> None:
    """By each command that makes a rule active."""
    aws.attach_part(Part.of(notified_events("put"), "in/\U0001f600"))
    off = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectAcl:Put",), disabled=True)
    aws.rules.add(off)
    wanted = {"rules": [{"bucket": "uploads", **document(replace(off, disabled=False))}]}
    (file := tmp_path / "rules.json").write_text(json.dumps(wanted))
    acl = ("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAcl:Put", "--suffix", ".png")
    for words in (acl, ("event", "enable", "uploads", off.id), ("event", "apply", str(file))):
        ran = run(*words)
        assert ran.code
        assert 'write events = ["s3:ObjectAcl:Put", "s3:ObjectCreated:*"' in ran.err
        assert "into [bucket.uploads] of bucketcast.toml, and deploy" in ran.err
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "put", "--prefix", "in/\U0001f600a")
    assert (ran.code, ran.err) == (0, "")
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "put", "--prefix", "in/\U0001f604")
    assert 'prefix = "in/' in ran.err


def test_a_bucket_that_does_not_exist_is_refused_unless_ahead(run: Run, aws: MotoAws) -> None:
    for events in ("put", "scanner"):
        refused = run("event", "add", "uplods", WEBHOOK, "--event", events).said(1)
        assert "bucket 'uplods' does not exist: check the name, or add --ahead" in refused
        assert aws.rules.of("uplods") == []
    ran = run("event", "add", "uplods", WEBHOOK, "--event", "put", "--ahead")
    assert "note: bucket 'uplods' does not exist; connect it with" in ran.said(0)


def test_ls_without_a_bucket_lists_all_rules(run: Run) -> None:
    assert run("event", "ls").err == "no bucket has rules\n"
    ran = run("event", "ls", "uploads")
    assert (ran.code, ran.out, ran.err) == (0, "", "uploads has no rules\n")
    make_bucket("archive")
    for bucket in ("uploads", "archive"):
        assert run("event", "add", bucket, WEBHOOK, "--event", "put").code == 0
    ran = run("event", "ls")
    assert ran.out.split()[0] == "BUCKET"
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["archive", "webhook:primary"],
        ["uploads", "webhook:primary"],
    ]
    document = run("event", "ls", "--json").document
    assert [rule["bucket"] for rule in document["rules"]] == ["archive", "uploads"]
    assert run("event", "rm", "archive").code == 0
    assert "archive" not in run("event", "ls").out
    assert "BUCKET" not in run("event", "ls", "uploads").out


def test_ls_marks_rules_without_their_target(run: Run, aws: MotoAws) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "put", "--suffix", ".jpg")
    aws.rules.add(Rule(bucket="uploads", arn="arn:minio:sqs::old:redis", events=PUT_DELETE))
    ids = {rule.arn: rule.id for rule in aws.rules.of("uploads")}
    gone = "arn:minio:sqs::old:redis"
    assert cells(run("event", "ls", "uploads").out) == [
        ["TARGET", "EVENTS", "PREFIX", "SUFFIX", "ID"],
        ["redis:old (not deployed)", "s3:ObjectCreated:*,s3:ObjectRemoved:*", ids[gone]],
        ["webhook:primary", "s3:ObjectCreated:*", ".jpg", ids[WEBHOOK]],
    ]
    (rule,) = run("event", "ls", "uploads", WEBHOOK, "--json").document["rules"]
    assert (rule["id"], rule["suffix"], rule["deployed"]) == (ids[WEBHOOK], ".jpg", True)


@pytest.fixture
def some(run: Run) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "put")
    run("event", "add", "uploads", WEBHOOK, "--event", "put", "--suffix", ".jpg")
    run("event", "add", "uploads", WEBHOOK, "--event", "delete", "--suffix", ".jpg")
    run("event", "add", "uploads", POSTGRES, "--event", "put,delete")


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize(
    ("words", "code", "left"),
    [
        ([WEBHOOK], 2, 4),
        (["webhook:primary", "--yes"], 0, 1),
        ([WEBHOOK, "--event", "put"], 0, 3),
        ([WEBHOOK, "--event", "put", "--suffix", ".jpg"], 0, 3),
        ([WEBHOOK, "--suffix", ".jpg"], 2, 4),
        ([WEBHOOK, "--suffix", ".jpg", "--yes"], 0, 2),
        ([POSTGRES, "--event", "delete,put"], 0, 3),
        ([POSTGRES, "--event", "put"], 1, 4),
        (["arn:minio:sqs::old:redis"], 1, 4),
        ([], 2, 4),
        (["--yes"], 0, 0),
        (["--yes", "--suffix", ".jpg"], 0, 2),
    ],
)
def test_rm_removes_what_was_named_and_nothing_else(
    run: Run, aws: MotoAws, words: list[str], code: int, left: int
) -> None:
    ran = run("event", "rm", "uploads", *words)
    assert (ran.code, len(aws.rules.of("uploads"))) == (code, left)
    assert bool(ran.out) is (code == 0)


@pytest.mark.usefixtures("some")
def test_rm_lists_what_it_did(run: Run) -> None:
    ran = run("event", "rm", "uploads", POSTGRES)
    assert ran.out == (
        "Successfully removed postgres:main s3:ObjectCreated:*,s3:ObjectRemoved:* "
        "prefix='' suffix=''\n"
    )
    assert len(run("event", "rm", "uploads", WEBHOOK, "--yes", "--json").document["removed"]) == 3


def test_the_scanners_events_come_from_no_bucket(run: Run) -> None:
    notify("uploads")
    command = ("event", "add", "uploads", WEBHOOK, "--event")
    assert "is not connected" in run(*command, "put").err
    assert run(*command, "scanner").err == ""
