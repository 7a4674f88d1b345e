"""What hangs on a thing is said, and asked, before a command removes it."""

from collections.abc import Sequence

import pytest

from bucketcast.rules import Rule
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging
from tests.unit.conftest import Run, Typed
from tests.unit.dynamic_targets.account import add_dynamic_targets, put_topic
from tests.unit.moto_aws import TABLE, MotoAws
from tests.unit.topics.test_command import LOGIN

HOOK, TOPIC = "arn:minio:sqs::audit:webhook", "arn:aws:sns:elsewhere::b"
TARGET_RM = ("target", "rm", "webhook:audit")


@pytest.fixture(autouse=True)
def things(run: Run, aws: MotoAws) -> None:
    """Rules of two buckets name a target and a topic, each with a neighbour of a similar name."""
    add_dynamic_targets(aws)
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    for name in ("audit", "audits"):
        assert run("target", "add", f"webhook:{name}", "endpoint=http://h").code == 0
    put_topic(aws, "b", LOGIN)
    add(aws, *(HOOK, TOPIC, f"{HOOK}s", "arn:minio:sqs::audits:webhook", f"{TOPIC}b"))


def add(aws: MotoAws, *arns: str, bucket: str = "uploads", prefix: str = "") -> None:
    for arn in arns:
        rule = Rule(bucket=bucket, arn=arn, events=("s3:ObjectCreated:*",), prefix=prefix)
        Rules(TABLE, aws.dynamodb).add(rule)


def rules(aws: MotoAws) -> list[str]:
    return [rule.arn for rule in Rules(TABLE, aws.dynamodb).all()]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (TARGET_RM, "1 rule"),
        (("topic", "rm", "b"), "1 rule"),
        (("bucket", "detach", "uploads"), "5 rules"),
    ],
)
def test_a_removal_names_what_hangs_on_it(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], number: str
) -> None:
    before = rules(aws), aws.s3.get_bucket_notification_configuration(Bucket="uploads")
    for refused in (run(*words), run(*words, "--json")):
        assert (refused.code, f", named by {number}" in refused.out + refused.err) == (2, True)
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    asked = run(*words)
    assert (asked.code, f", named by {number}" in asked.err) == (1, True)
    assert asked.err.startswith("  uploads ")
    after = aws.s3.get_bucket_notification_configuration(Bucket="uploads")
    assert (rules(aws), after["QueueConfigurations"]) == (
        before[0],
        before[1]["QueueConfigurations"],
    )
    assert Table(TABLE, aws.dynamodb).get("webhook:audit")
    assert run("topic", "get", "b").code == 0


@pytest.mark.parametrize(
    ("typed", "options", "removed"),
    [
        ("y\ny\n", (), 2),
        ("y\nn\n", (), 0),
        ("y\n", ("--rules",), 2),
        ("", ("--rules", "--yes"), 2),
        ("", ("--yes",), 0),
    ],
)
def test_a_targets_rules_go_with_it_if_wanted(
    run: Run,
    aws: MotoAws,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    options: Sequence[str],
    removed: int,
) -> None:
    add(aws, HOOK, bucket="archive")
    monkeypatch.setattr("sys.stdin", Typed(typed))
    ran = run(*TARGET_RM, *options)
    assert ran.code == 0
    assert f"Rules {'removed with' if removed else 'that name'} it" in ran.out
    assert rules(aws).count(HOOK) == 2 - removed
    assert len(rules(aws)) == 6 - removed


def test_many_rules_are_counted_and_some_shown() -> None:
    many = [Rule(bucket="b", arn=HOOK, events=("s3:*",), prefix=str(n)) for n in range(206)]
    assert hanging.named_by(many) == ", named by 206 rules"
    assert (len(hanging.lines(many)), hanging.lines(many)[-1]) == (6, "  and 201 more")
    assert (hanging.named_by([]), hanging.lines([])) == ("", [])
