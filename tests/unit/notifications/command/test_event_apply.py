"""`bucketcast event apply`: rules as a file."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from bucketcast.rules import Rule
from tests.unit.conftest import Run, Typed
from tests.unit.moto_aws import POSTGRES, WEBHOOK, MotoAws, make_bucket

ONE: dict[str, Any] = {"bucket": "uploads", "arn": WEBHOOK, "event": ["s3:ObjectCreated:*"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.json"


def save(file: Path, *entries: Any, **more: Any) -> str:
    file.write_text(json.dumps({"rules": entries, **more}))
    return str(file)


def test_apply_accepts_the_output_of_ls(run: Run, aws: MotoAws, file: Path) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "put", "--prefix", "in/", "--name", "a")
    narrow = ("--suffix", ".jpg", "--size", "1KiB-", "--not", "key^=tmp/")
    run("event", "add", "uploads", POSTGRES, *narrow)
    run("event", "add", "archive", WEBHOOK, "--ahead", "--event", "delete")
    labelled = Rule(bucket="archive", arn=WEBHOOK, events=("s3:ObjectCreated:Put",), label="x")
    aws.rules.add(labelled)
    before = {bucket: aws.rules.of(bucket) for bucket in ("archive", "uploads")}
    file.write_text(run("event", "ls", "--json").out)
    for bucket, rules_before in before.items():
        aws.rules.remove(rules_before)
        assert aws.rules.of(bucket) == []
    ran = run("event", "apply", str(file))
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "4 rules added, 0 removed")
    assert {bucket: aws.rules.of(bucket) for bucket in before} == before
    again = run("event", "apply", str(file))
    assert (again.code, again.out) == (0, "0 rules added, 0 removed\n")


def test_apply_replaces_the_rules_of_named_buckets_only(run: Run, aws: MotoAws, file: Path) -> None:
    run("event", "add", "uploads", POSTGRES, "--event", "put")
    run("event", "add", "archive", POSTGRES, "--ahead", "--event", "put")
    name = save(file, ONE)
    dry = run("event", "apply", name, "--dry-run")
    assert dry.out.splitlines() == [
        "- uploads postgres:main s3:ObjectCreated:* prefix='' suffix=''",
        "+ uploads webhook:primary s3:ObjectCreated:* prefix='' suffix=''",
        "1 rule would be added, 1 would be removed",
    ]
    assert [rule.arn for rule in aws.rules.of("uploads")] == [POSTGRES]
    done = run("event", "apply", name, "--yes", "--json").document
    assert [each["arn"] for each in done["added"]] == [WEBHOOK]
    assert [each["arn"] for each in done["removed"]] == [POSTGRES]
    assert [rule.arn for rule in aws.rules.of("uploads")] == [WEBHOOK]
    assert len(aws.rules.of("archive")) == 1
    pruned = run("event", "apply", name, "--prune", "--yes")
    assert pruned.out.splitlines()[-1] == "0 rules added, 1 removed"
    assert aws.rules.of("archive") == []


def test_a_removal_needs_confirmation(
    run: Run, aws: MotoAws, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("event", "add", "uploads", POSTGRES, "--event", "put")
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    asked = run("event", "apply", save(file, bucket="uploads")).said(1)
    assert "- uploads postgres:main s3:ObjectCreated:*" in asked
    assert "Remove 1 rule? [y/N]" in asked
    assert asked.endswith("nothing was changed\n")
    assert run("event", "apply", str(file), "--json").code == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert "add --yes" in run("event", "apply", str(file)).err
    assert len(aws.rules.of("uploads")) == 1
    assert run("event", "apply", str(file), "--yes").code == 0
    assert aws.rules.of("uploads") == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"bucket": "a b"}, "rules[1].bucket: invalid bucket name 'a b'"),
        ({"arn": "arn:x"}, "rules[1].arn: "),
        ({"event": ["puut"]}, "rules[1].event: "),
        ({"event": []}, "rules[1].event: no event in ''"),
        ({"prefix": "a/../b"}, "rules[1].prefix: found '.' or '..'"),
        ({"name": "a b"}, "rules[1].name: invalid name 'a b'"),
        ({"conditions": [{"on": "colour", "values": ["red"]}]}, "rules[1].conditions: "),
        ({"conditions": [{"on": "key", "values": ["a"], "how": "range"}]}, "rules[1].conditions: "),
        ({"prefixes": "x"}, "unknown field `prefixes` - at `$.rules[1]`"),
    ],
)
def test_apply_lists_errors_and_changes_nothing(
    run: Run, aws: MotoAws, file: Path, entry: Any, expected: str
) -> None:
    assert expected in run("event", "apply", save(file, ONE, {**ONE, **entry})).said(2)
    assert aws.rules.of("uploads") == []


def test_apply_and_enable_note_what_add_notes(run: Run, aws: MotoAws, file: Path) -> None:
    make_bucket("lonely")
    rule = ("lonely", WEBHOOK, "--event", "put,get")
    noted = run("event", "add", *rule, "--json").document["note"]
    assert noted.startswith("bucket lonely is not connected")
    file.write_text(run("event", "ls", "--json").out)
    assert run("event", "rm", *rule).code == 0
    for words in (("--dry-run",), ()):
        assert (
            "; ".join(run("event", "apply", str(file), "--json", *words).document["notes"]) == noted
        )
    assert run("event", "apply", str(file), "--json").document["notes"] == []
    switch = ("lonely", aws.rules.of("lonely")[0].id, "--json")
    assert run("event", "disable", *switch).document["notes"] == []
    assert "; ".join(run("event", "enable", *switch).document["notes"]) == noted


def test_apply_refuses_a_listing_of_one_target(run: Run, file: Path) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "put")
    run("event", "add", "uploads", POSTGRES, "--event", "put")
    file.write_text(run("event", "ls", "uploads", WEBHOOK, "--json").out)
    refused = run("event", "apply", str(file), "--yes").said(2)
    assert "found a listing of the rules for webhook:primary only" in refused


def test_apply_keeps_a_rule_without_its_target(run: Run, aws: MotoAws, file: Path) -> None:
    lost = Rule(bucket="uploads", arn="arn:minio:sqs::gone:webhook", events=("s3:ObjectCreated:*",))
    aws.rules.add(lost)
    file.write_text(run("event", "ls", "--json").out)
    assert run("event", "apply", str(file)).code == 0
    assert aws.rules.of("uploads") == [lost]
