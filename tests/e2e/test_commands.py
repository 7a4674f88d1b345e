"""`bucketcast` on the deployed stack, with nothing but the env file's variables."""

from collections.abc import Callable

from tests.e2e.system import System
from tests.servers.machine import ports

ARNS = {
    "arn:minio:sqs::bulk:webhook",
    "arn:minio:sqs::flaky:webhook",
    "arn:minio:sqs::log:postgresql",
    "arn:minio:sqs::log:redis",
    "arn:minio:sqs::mirror:postgresql",
    "arn:minio:sqs::mirror:redis",
    "arn:minio:sqs::primary:webhook",
}


def test_target_ls_shows_every_target_online(system: System) -> None:
    fares = system.fares()
    assert {each["arn"] for each in fares.values()} == ARNS
    for each in fares.values():
        assert each["online"] is True, each["why"]
        assert each["where"]
    ran = system.bucketcast("target", "ls", "--wait", "50")
    assert ran.code == 0
    heading, *lines = ran.out.splitlines()
    assert heading.split()[:3] == ["ARN", "ONLINE", "WAITING"]
    online = {line.split()[0] for line in lines if line.split()[1] == "yes"}
    assert online == ARNS
    port = system.consumers.webhook.listeners.tls
    assert f"https://127.0.0.1:{port}/events" in {each["where"] for each in fares.values()}


def test_event_ls_shows_the_rules_of_a_bucket(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("redis.mirror", suffix=".jpg", event="put,delete")
    arn = "arn:minio:sqs::mirror:redis"
    listed = system.bucketcast("event", "ls", "uploads", arn, "--json")
    assert listed.code == 0
    assert listed.document["status"] == "success"
    own = [each for each in listed.document["rules"] if each["prefix"] == prefix]
    assert len(own) == 1
    assert own[0]["event"] == ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]
    assert own[0]["suffix"] == ".jpg"
    assert own[0]["deployed"] is True
    table = system.bucketcast("event", "ls", "uploads", arn)
    line = next(line for line in table.out.splitlines() if prefix in line)
    events = "s3:ObjectCreated:*,s3:ObjectRemoved:*"
    assert line.split() == [arn, events, prefix, ".jpg", own[0]["id"]]


def test_a_removed_rule_that_is_not_there_fails(system: System, prefix: str) -> None:
    arn = "arn:minio:sqs::primary:webhook"
    ran = system.bucketcast("event", "rm", "uploads", arn, "--event", "put", "--prefix", prefix)
    assert ran.code == 1
    assert "no rule of uploads matches" in ran.err


def test_an_unknown_target_is_refused_with_those_there_are(system: System) -> None:
    ran = system.bucketcast("event", "add", "uploads", "arn:minio:sqs::primray:webhook")
    assert ran.code == 1
    assert "did you mean" in ran.err
    assert "arn:minio:sqs::primary:webhook" in ran.err


def test_misuse_is_reported_and_exits_with_2(system: System) -> None:
    for arguments in (
        ("event", "add", "uploads"),
        ("event", "add", "uploads", "arn:nonsense"),
        ("event", "add", "uploads", "arn:minio:sqs::primary:webhook", "--event", "putt"),
        ("event", "rm", "uploads"),
        ("evnt",),
    ):
        ran = system.bucketcast(*arguments)
        assert ran.code == 2, arguments
        assert ran.err
        assert "Traceback" not in ran.err


def test_a_bucket_that_does_not_exist_is_refused(system: System, prefix: str) -> None:
    words = ("event", "add", "nowhere", "arn:minio:sqs::primary:webhook", "--prefix", prefix)
    ran = system.bucketcast(*words)
    assert ran.code == 1
    assert "bucket 'nowhere' does not exist" in ran.err
    assert "nowhere" not in system.bucketcast("event", "ls").out
    assert system.bucketcast(*words, "--ahead").code == 0
    assert "nowhere" in system.bucketcast("event", "ls").out


def test_no_stack_of_that_name(system: System) -> None:
    ran = system.bucketcast("target", "ls", "--stack", "Nope")
    assert ran.code == 1
    assert "no stack Nope in us-east-1" in ran.err
    assert "--stack" in ran.err
    as_json = system.bucketcast("target", "ls", "--stack", "Nope", "--json")
    assert as_json.code == 1
    assert as_json.document["status"] == "error"


def test_an_unreachable_endpoint(system: System) -> None:
    port = ports(system.elsewhere / "nobody", "nobody")["nobody"]
    nobody = f"http://127.0.0.1:{port}"
    ran = system.bucketcast("event", "ls", "uploads", AWS_ENDPOINT_URL=nobody)
    assert ran.code == 1
    assert f"AWS_ENDPOINT_URL is {nobody}" in ran.err
    assert "make up" in ran.err
    assert "Traceback" not in ran.err


def test_without_a_login_to_aws_the_hint_is_printed(system: System) -> None:
    ran = system.bucketcast(
        "event",
        "ls",
        "uploads",
        AWS_ACCESS_KEY_ID="",
        AWS_SECRET_ACCESS_KEY="",
        AWS_EC2_METADATA_DISABLED="true",
        HOME=str(system.elsewhere),
    )
    assert ran.code == 1
    assert "no AWS login" in ran.err
