"""`bucketcast dlq ls`, `show` and `export` against moto's queues."""

import json
import re
from pathlib import Path

from bucketcast.delivery import dead_letters
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.policy import History
from tests.unit.conftest import Run, cells
from tests.unit.dlq.command.letters import (
    ARN,
    DEAD,
    OWN,
    TOPIC,
    count,
    dead_letter_event,
    envelope,
    move,
    put,
)
from tests.unit.moto_aws import MotoAws, configure

NAME = "webhook:primary"


def test_letters_are_counted_by_target_and_reason_and_stay_visible(run: Run, aws: MotoAws) -> None:
    for number in range(25):
        dead_letter_event(aws, f"k{number}", reason=f"answered 422: row {number}")
    dead_letter_event(aws, "a", "b", reason="too large")
    unread = dead_letters.letter(Dead("hello", History(), "BadEvent", "no JSON object"))
    put(aws, "Bucketcast-ingress-dead", unread)
    aws.sqs.send_message(QueueUrl=aws.queue(DEAD), MessageBody="moved by SQS itself")
    ran = run("dlq", "ls")
    rows = [[row[0].partition("/")[0], row[1], *row[4:]] for row in cells(ran.out)[1:]]
    assert ["ingress", "1", "BadEvent", "-", "no JSON object"] in rows
    (rejected,) = [row for row in rows if row[:4] == [NAME, "25", "Rejected", "r1"]]
    # SQS gives letters in no order, and any of them may be the one that is shown.
    assert re.fullmatch(r"answered 422: row \d+", rejected[4])
    assert [NAME, "2", "Rejected", "r1", "too large"] in rows
    assert any(row[0] == NAME and "SQS moved it" in row[4] for row in rows)
    assert count(aws, DEAD) == 27
    document = run("dlq", "ls", ARN, "--reason", "LARGE", "--json").document
    assert (document["events"], document["messages"]) == (2, 1)
    assert document["reasons"][0]["moved_by"] == "bucketcast"


def test_no_dead_letters_is_reported(run: Run) -> None:
    ran = run("dlq", "ls")
    assert (ran.code, ran.out) == (0, "")
    assert "no dead letters" in ran.err


def test_a_queue_that_cannot_be_read_does_not_hide_the_others(run: Run, aws: MotoAws) -> None:
    dead_letter_event(aws, "a")
    aws.sqs.delete_queue(QueueUrl=aws.queue("Bucketcast-ingress-dead"))
    ran = run("dlq", "ls")
    assert cells(ran.out)[1][0].startswith(f"{NAME}/")
    assert "ingress: not read" in ran.err
    assert run("dlq", "ls", "ingress").code == 1


def test_show_prints_the_event_the_reason_and_the_bytes_escaped(run: Run, aws: MotoAws) -> None:
    configure(OWN, endpoint="http://h/", auth_token="secret:token")
    dead_letter_event(aws, "evil\x1b[2Jkey", reason="answered 422: \x1b]0;title\x07")
    ran = run("dlq", "show", "webhook:primary")
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err
    assert "evil\\x1b[2Jkey" in ran.out
    assert "answered 422" in ran.out
    assert "  moved by  Bucketcast; rule r1\n" in ran.out
    assert '"EventName":"s3:ObjectCreated:Put"' in ran.out
    assert "3 attempts before" in ran.out
    (document,) = run("dlq", "show", ARN, "--json").document["dead_letters"]
    assert json.loads(document["events"][0]["body"])["Key"] == "uploads/evil\x1b[2Jkey"
    assert count(aws, DEAD) == 1
    assert "no dead letters" in run("dlq", "show", ARN, "--id", "nobody").err


def test_show_prints_the_answer_of_the_target(run: Run, aws: MotoAws) -> None:
    configure(OWN, endpoint="http://h/")
    dead = Dead(envelope("a"), History(), "Rejected", "", answer="1\n2")
    put(aws, DEAD, dead_letters.letter(dead))
    assert "  answer\n    1\n    2\n" in run("dlq", "show", NAME).out
    (document,) = run("dlq", "show", NAME, "--json").document["dead_letters"]
    assert document["answer"] == "1\n2"


def test_show_prints_all_letters_of_an_event_and_the_one_of_a_message(
    run: Run, aws: MotoAws
) -> None:
    configure(OWN, endpoint="http://h/")
    for reason in ("sent by one rule", "sent by another"):
        dead_letter_event(aws, "a", reason=reason)
    dead_letter_event(aws, "b")
    found = run("dlq", "show", ARN, "--limit", "9", "--json").document["dead_letters"]
    ids = {each["events"][0]["key"]: (each["id"], each["events"][0]["id"]) for each in found}
    for id_, number in zip(ids["a"], (1, 2), strict=True):
        ran = run("dlq", "show", ARN, "--id", id_, "--json")
        assert [each["events"][0]["key"] for each in ran.document["dead_letters"]] == ["a"] * number


def test_show_prints_topic_and_last_reason_of_a_message_moved_by_sqs(
    run: Run, aws: MotoAws
) -> None:
    configure(OWN, endpoint="http://h/")
    history = History(5, 3, "connection refused", "NotConnected", topic=TOPIC)
    move(aws, envelope("a"), history)
    (group,) = run("dlq", "ls", "--json").document["reasons"]
    assert (group["topic"], group["moved_by"], group["error"]) == (TOPIC, "sqs", "NotConnected")
    ran = run("dlq", "show", ARN)
    assert f"topic     {TOPIC}" in ran.out
    assert "the last known failure: connection refused" in ran.out
    assert "3 attempts before" in ran.out
    (document,) = run("dlq", "show", ARN, "--json").document["dead_letters"]
    assert (document["topic"], document["attempts"]) == (TOPIC, 3)


def test_export_writes_a_line_per_message_and_deletes_none(
    run: Run, aws: MotoAws, tmp_path: Path
) -> None:
    dead_letter_event(aws, "a", "b")
    dead_letter_event(aws, "c")
    lines = [json.loads(line) for line in run("dlq", "export", ARN).out.splitlines()]
    assert sorted(event["key"] for line in lines for event in line["events"]) == ["a", "b", "c"]
    assert {line["message"]["attributes"]["error"] for line in lines} == {"Rejected"}
    assert count(aws, DEAD) == 2
    path = tmp_path / "all.ndjson"
    document = run("dlq", "export", ARN, "--file", str(path), "--json").document
    assert document["messages"] == 2 == len(path.read_text().splitlines())
    assert run("dlq", "export", ARN, "--json").code == 2


def test_unknown_target_lists_existing_ones(run: Run) -> None:
    ran = run("dlq", "ls", "webhook:primry")
    assert ran.code == 1
    assert "did you mean 'webhook:primary'? there is ingress, postgres:main" in ran.err
    assert "ingress" in ran.err
