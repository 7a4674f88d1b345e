"""`bucketcast event disable` and `enable`: a rule is kept, and matches nothing meanwhile."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bucketcast.destination import TopicArn
from bucketcast.rules import Rule, RuleIndex, cost
from bucketcast.rules.conditions import Condition
from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import WEBHOOK, MotoAws
from tests.unit.samples import event

ADD = ("event", "add", "uploads", WEBHOOK, "--event", "put")


@pytest.fixture
def off(run: Run, aws: MotoAws) -> Rule:
    """One of two rules, switched off."""
    run(*ADD)
    run(*ADD, "--prefix", "in/", "--name", "mine")
    (rule,) = [rule for rule in aws.rules.of("uploads") if rule.name]
    ran = run("event", "disable", "uploads", rule.id)
    assert (
        ran.out == "Switched off webhook:primary s3:ObjectCreated:* prefix='in/' suffix='' mine\n"
    )
    return rule


def test_a_disabled_rule_matches_nothing_and_is_kept(run: Run, aws: MotoAws, off: Rule) -> None:
    put = event(bucket="uploads", key="in/a")
    assert [hit.named for hit in RuleIndex(aws.rules.of("uploads")).match(put)] == [False]
    heading, *rows = cells(run("event", "ls", "uploads").out)
    assert heading[-2:] == ["STATE", "ID"]
    assert ["off", off.id] in [row[-2:] for row in rows]
    reasons = [rule.failure(put) for rule in aws.rules.of("uploads")]
    assert sorted(map(str, reasons)) == ["None", "the rule is switched off"]
    assert run("event", "enable", "uploads", off.id).code == 0
    assert off in aws.rules.of("uploads")
    assert len(RuleIndex(aws.rules.of("uploads")).match(put)) == 2
    assert "STATE" not in run("event", "ls", "uploads").out


@pytest.mark.parametrize("option", [(), ("-p",)])
def test_a_disabled_rule_is_not_added_again(run: Run, off: Rule, option: tuple[str, ...]) -> None:
    refused = run(*ADD, "--prefix", "in/", "--name", "mine", *option).said(1)
    assert f"`bucketcast event enable uploads {off.id}`" in refused


def test_an_unknown_id_switches_nothing(run: Run, aws: MotoAws, off: Rule) -> None:
    refused = run("event", "enable", "uploads", off.id, "0123").said(1)
    assert "no rule of uploads has the id 0123" in refused
    assert [rule.disabled for rule in aws.rules.of("uploads") if rule.name] == [True]


RULE = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectCreated:*",))
TOPIC = TopicArn("r", "", "t").arn
ONE, TWO = (replace(RULE, conditions=(Condition("key", (f"{n}a{{60}}",), "regex"),)) for n in "12")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([replace(RULE, arn="arn:minio:sqs::gone:webhook")], "no target webhook:gone"),
        ([replace(RULE, arn=TOPIC)], f"found no topic {TOPIC}"),
        ([replace(RULE, conditions=(Condition("tag:a", ("b",)),))], "tag:a=b needs facts about"),
        ([ONE, TWO], "allowed are 80,000"),
        (
            [replace(RULE, arn=TOPIC, name="n"), replace(RULE, arn=TOPIC, name="n", prefix="a/")],
            f"found 2 active notifications n of {TOPIC}",
        ),
    ],
)
def test_what_cannot_be_added_can_only_be_disabled(
    run: Run,
    aws: MotoAws,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    rules: list[Rule],
    expected: str,
) -> None:
    monkeypatch.setattr(cost, "MOST_BUCKET_RULES_BYTES", 80_000)
    table, on, off = aws.rules, tmp_path / "on.json", tmp_path / "off.json"
    table.change("uploads", lambda _: rules)
    on.write_text(run("event", "ls", "--json").out)
    assert run("event", "disable", "uploads", rules[0].id).code == 0
    off.write_text(run("event", "ls", "--json").out)
    for words in (("enable", "uploads", rules[0].id), ("apply", str(on), "--yes")):
        ran = run("event", *words)
        assert (ran.code > 0, expected in ran.err) == (True, True), ran.err
    assert table.active("uploads") == rules[1:]
    table.change("uploads", lambda _: rules)
    assert run("event", "apply", str(off), "--dry-run").out.splitlines()[1].endswith(" off")
    assert run("event", "apply", str(off), "--yes").code == 0
    assert table.active("uploads") == rules[1:]
    assert run("event", "apply", str(off)).out == "0 rules added, 0 removed\n"


def test_a_disabled_notification_is_not_listed_and_stays(run: Run, aws: MotoAws) -> None:
    rule = replace(RULE, arn=TOPIC, name="n", disabled=True)
    aws.rules.add(rule)
    ls = run("notification", "ls", "--bucket", "uploads", "--json")
    assert ls.document["notifications"] == []
    assert run("notification", "rm", "--bucket", "uploads").code == 0
    assert aws.rules.of("uploads") == [rule]
