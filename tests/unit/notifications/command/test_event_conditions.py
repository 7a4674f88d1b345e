"""`bucketcast event` with all that a rule may ask for beyond event, prefix and suffix."""

from shlex import split

import pytest

from bucketcast.rules.conditions import Condition
from tests.unit.conftest import Run
from tests.unit.moto_aws import WEBHOOK, MotoAws

ADD = ("event", "add", "uploads", WEBHOOK, "--event", "put")


@pytest.fixture(autouse=True)
def looks(aws: MotoAws) -> None:
    aws.outputs["ObjectFacts"] = '["uploads"]'


WORDS = """
    --prefix a/ --prefix b/ --suffix .png --suffix .jpg --regex 'team-[0-9]+/.*'
    --tag class=public --tag class=open --metadata Team=a=b --content-type image/jpeg
    --size 1KiB-10MB --storage-class STANDARD_IA --principal AWS:anna --source-ip 10.0.0.0/8
    --if 'content-type^=image/' --not tag:class=private --not 'key^=tmp/' --not 'key^=log/'
"""


def test_conditions_are_stored_shown_and_removed_by_the_same_options(
    run: Run, aws: MotoAws
) -> None:
    assert run(*ADD).code == 0
    ran = run(*ADD, *split(WORDS))
    assert (ran.code, ran.err) == (0, "")
    (stored,) = [rule for rule in aws.rules.of("uploads") if rule.conditions]
    assert list(stored.conditions) == [
        Condition("content_type", ("image/jpeg",)),
        Condition("content_type", ("image/",), "prefix"),
        Condition("key", ("a/", "b/"), "prefix"),
        Condition("key", ("log/", "tmp/"), "prefix", unless=True),
        Condition("key", ("team-[0-9]+/.*",), "regex"),
        Condition("key", (".jpg", ".png"), "suffix"),
        Condition("metadata:x-amz-meta-team", ("a=b",)),
        Condition("principal", ("AWS:anna",)),
        Condition("size", ("1KiB-10MB",), "range"),
        Condition("source_ip", ("10.0.0.0/8",), "cidr"),
        Condition("storage_class", ("STANDARD_IA",)),
        Condition("tag:class", ("open", "public")),
        Condition("tag:class", ("private",), unless=True),
    ]
    lines = run("event", "ls", "uploads").out.splitlines()
    (line,) = [line for line in lines if stored.id in line]
    printed = line.partition("  ")[2].strip().rpartition("  ")[0].partition("  ")[2].strip()
    assert run("event", "rm", "uploads", WEBHOOK, *split(printed)).code == 0
    assert [rule.conditions for rule in aws.rules.of("uploads")] == [()]
    assert run(*ADD, *split(printed)).code == 0
    assert stored in aws.rules.of("uploads")
    assert run("event", "rm", "uploads", WEBHOOK, *split(WORDS)).code == 0


def test_named_rule_may_equal_another(run: Run, aws: MotoAws) -> None:
    for name in ((), ("--name", "audit"), ("--name", "copy")):
        assert run(*ADD, *name).code == 0
    assert run("event", "rm", "uploads", WEBHOOK, "--name", "copy").code == 0
    assert {rule.name for rule in aws.rules.of("uploads")} == {"", "audit"}


def test_rm_removes_by_id_and_nothing_when_one_is_unknown(run: Run, aws: MotoAws) -> None:
    for words in ((), ("--size", "5-"), ("--size", "9-")):
        run(*ADD, *words)
    first, second, third = (rule.id for rule in aws.rules.of("uploads"))
    ran = run("event", "rm", "uploads", "--id", first, "--id", "none")
    assert "has the id none" in ran.said(1)
    assert len(aws.rules.of("uploads")) == 3
    assert run("event", "rm", "uploads", "--id", first, "--id", third).code == 0
    assert [rule.id for rule in aws.rules.of("uploads")] == [second]


def test_rm_with_an_empty_prefix_is_about_the_rule_without_one(run: Run, aws: MotoAws) -> None:
    run(*ADD)
    run(*ADD, "--prefix", "a/")
    assert run("event", "rm", "uploads", WEBHOOK, "--prefix", "").code == 0
    assert [rule.prefix for rule in aws.rules.of("uploads")] == ["a/"]


@pytest.mark.parametrize(
    ("outputs", "hint"),
    [
        ("[]", 'put object_facts = "on" and [bucket.uploads] into bucketcast.toml and deploy'),
        ('["other"]', "put [bucket.uploads] into bucketcast.toml and deploy"),
        (None, 'object_facts = "all"'),
    ],
)
def test_conditions_on_unreadable_objects_are_refused_by_add(
    run: Run, aws: MotoAws, outputs: str | None, hint: str
) -> None:
    aws.outputs.pop("ObjectFacts")
    aws.outputs |= {"ObjectFacts": outputs} if outputs else {}
    for words in (["--tag", "a=b"], ["--not", "content_type^=image/"], ["--storage-class", "X"]):
        refused = run(*ADD, *words).said(2)
        assert "needs facts about the object" in refused
        assert hint in refused
    assert run(*ADD, "--size", "5-", "--principal", "anna").code == 0
    assert len(aws.rules.of("uploads")) == 1
