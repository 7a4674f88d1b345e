"""`bucketcast dlq redrive` and `purge` against moto's queues."""

import json
import re
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bucketcast.delivery import dead_letters
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.delivery.queue import GROUP, Depth, Outgoing, Queue
from bucketcast.dlq.aws import queues, redrive
from tests.unit.conftest import Run, Typed, cells
from tests.unit.dlq.command.letters import (
    ARN,
    DEAD,
    OWN,
    TOPIC,
    arrive,
    count,
    dead_letter,
    dead_letter_event,
    envelope,
    keys,
    move,
    put,
)
from tests.unit.moto_aws import MotoAws, configure
from tests.unit.samples import message, received, record


def test_redrive_sends_and_deletes_with_a_full_term(run: Run, aws: MotoAws) -> None:
    for number in range(23):
        dead_letter_event(aws, f"k{number:02}", topic=TOPIC)
    dry = run("dlq", "redrive", ARN, "--dry-run", "--json").document
    assert (dry["events"], dry["to"]) == (23, ARN)
    assert count(aws, DEAD) == 23
    document = run("dlq", "redrive", ARN, "--json").document
    assert (document["events"], document["messages"], document["failed"]) == (23, 23, {})
    assert count(aws, DEAD) == 0
    messages = received(aws.sqs, aws.queue(OWN))
    opened = [unpack(message["Body"]) for message in messages]
    assert len(opened) < 5
    assert {History.read(message["texts"][ATTRIBUTE]) for message in messages} == {
        History(topic=TOPIC, redriven=True)
    }
    assert {delivery.created for deliveries in opened for delivery in deliveries} == {9}
    assert sum(map(len, opened)) == 23


def refuse(monkeypatch: pytest.MonkeyPatch, queue: str) -> None:
    """Let SQS refuse what is sent to a queue."""
    send = Queue.send

    def sent(self: Queue, messages: Sequence[Outgoing]) -> dict[int, str]:
        if self.url.endswith(f"/{queue}"):
            return dict.fromkeys(range(len(messages)), "InternalError: try later")
        return send(self, messages)

    monkeypatch.setattr(Queue, "send", sent)


def test_letter_stays_unchanged_if_the_target_queue_refuses(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_letter_event(aws, "in/a", "out/b")
    with monkeypatch.context() as patch:
        refuse(patch, OWN)
        for _ in range(3):
            ran = run("dlq", "redrive", ARN, "--prefix", "in/")
            assert (ran.code, "1 event left: SQS: InternalError" in ran.err) == (1, True), ran.err
            assert count(aws, DEAD) == 1
    assert run("dlq", "redrive", ARN, "--prefix", "in/").code == 0
    assert (keys(aws, OWN), keys(aws, DEAD)) == (["in/a"], ["out/b"])


def test_letter_stays_whole_if_its_remaining_events_are_refused(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_letter_event(aws, "in/a", "out/b", "out/c")
    with monkeypatch.context() as patch:
        refuse(patch, DEAD)
        ran = run("dlq", "redrive", ARN, "--prefix", "in/")
    assert ran.code == 1
    assert "2 events left: SQS: InternalError" in ran.err
    assert "1 message not deleted: what was taken may come twice" in ran.err
    assert count(aws, DEAD) == 1
    document = run("dlq", "redrive", ARN, "--prefix", "in/", "--json").document
    assert (document["events"], document["failed"]) == (1, {})
    assert (keys(aws, OWN), keys(aws, DEAD)) == (["in/a", "in/a"], ["out/b", "out/c"])


@pytest.mark.parametrize(
    ("before", "note"),
    [(0, "only 1 of about 9 messages were read"), (8, "about 8 messages were in flight elsewhere")],
)
@pytest.mark.parametrize(
    "words",
    [
        ["redrive", ARN],
        ["redrive", ARN, "--dry-run"],
        ["purge", ARN, "--file", "f", "--yes"],
        ["export", ARN],
        ["show", ARN, "--limit", "9"],
        ["ls", ARN, "--all"],
    ],
)
def test_a_command_says_that_it_could_not_read_all(
    run: Run,
    aws: MotoAws,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    before: int,
    note: str,
) -> None:
    """Another reader has eight of nine, which it received before the command began, or after."""
    configure(OWN, endpoint="http://h/")
    for nth in range(9):
        dead_letter_event(aws, f"{nth}")
    look = queues.snapshot

    def hide(number: int) -> None:
        for _ in range(number):
            aws.sqs.receive_message(QueueUrl=aws.queue(DEAD), VisibilityTimeout=60)

    def snapshot(*given: Any) -> tuple[int, Depth]:
        found = look(*given)
        hide(8 - before)
        return found

    hide(before)
    monkeypatch.setattr(queues, "snapshot", snapshot)
    ran = run("dlq", *words)
    assert ran.code == (0 if words[0] in ("show", "ls") else 1)
    assert note in ran.err
    assert "--all" not in ran.err


@pytest.mark.parametrize("command", ["redrive", "purge", "show", "export"])
def test_name_of_a_group_chooses_its_letters_and_no_others(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Others look like it, and more of all of them arrive meanwhile."""
    configure(OWN, endpoint="http://h/")
    for number in range(5):
        dead_letter_event(aws, f"mine-{number}", reason=f"answered 422: no album {number}")
    put_look_alikes(aws, "other")
    found = run("dlq", "ls", "--json").document["reasons"]
    (mine,) = [group for group in found if group["events"] == 5]
    ids = {group["id"] for group in found}
    assert len(ids) == 1 + LOOK_ALIKES
    assert {group["id"] for group in run("dlq", "ls", "--json").document["reasons"]} == ids

    def send() -> None:
        dead_letter_event(aws, "late", reason="answered 422: no album 9")
        put_look_alikes(aws, "late")

    more = {"purge": ["--file", "f", "--yes"], "show": ["--limit", "99"]}.get(command, [])
    with monkeypatch.context() as patch:
        arrive(patch, aws, send)
        ran = run("dlq", command, f"webhook:primary/{mine['id']}", *more)
    moves = command in ("redrive", "purge")
    assert (ran.code, "messages arrived after the start: left" in ran.err) == (0, moves)
    expected = [f"mine-{number}" for number in range(5)]
    stay = [each for each in keys(aws, DEAD) if not each.startswith("late")]
    if moves:
        assert [each for each in stay if each.startswith("mine-")] == []
        assert f"5 events {'sent' if command == 'redrive' else 'removed'}" in ran.out
    if command == "redrive":
        assert keys(aws, OWN) == expected
    else:
        assert keys(aws, OWN) == []
        shown = Path("f").read_text() if command == "purge" else ran.out
        assert sorted({*re.findall(r"mine-\d|other-\w+|late", shown)}) == expected
    assert len([each for each in stay if each.startswith("other-")]) == LOOK_ALIKES


LOOK_ALIKES = 6


def put_look_alikes(aws: MotoAws, name: str) -> None:
    """Put letters that differ from "answered 422: no album 1" in one thing each."""
    reason = "answered 422: no album 1"
    dead_letter_event(aws, f"{name}-longer", reason=f"{reason}!")
    dead_letter_event(aws, f"{name}-case", reason=reason.upper())
    dead_letter_event(aws, f"{name}-topic", reason=reason, topic=TOPIC)
    for part, error, rule in (("error", "Expired", "r1"), ("rule", "Rejected", "r2")):
        dead = Dead(envelope(f"{name}-{part}"), History(since=5, tries=3), error, reason, rule)
        put(aws, DEAD, dead_letters.letter(dead, ARN))
    move(aws, envelope(f"{name}-sqs"), History(5, 3, reason, "Rejected"), DEAD)


def test_interrupted_redrive_repeats_only_events_in_flight(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(25):
        dead_letter_event(aws, f"k{number:02}")
    deleted = redrive.Mover._delete_batch
    calls = []

    def interrupt(mover: Any, letters: Any) -> Any:
        calls.append(len(letters))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return deleted(mover, letters)

    monkeypatch.setattr(redrive.Mover, "_delete_batch", interrupt)
    ran = run("dlq", "redrive", ARN)
    assert ran.code == 1
    assert "run the same command again" in ran.err
    assert count(aws, DEAD) == 25 - calls[0]
    monkeypatch.setattr(redrive.Mover, "_delete_batch", deleted)
    assert run("dlq", "redrive", ARN).code == 0
    arrived = keys(aws, OWN)
    assert set(arrived) == {f"k{number:02}" for number in range(25)}
    assert len(arrived) == 25 + calls[1]


@pytest.mark.parametrize("command", ["redrive", "purge"])
def test_limit_counts_the_events_of_all_messages(run: Run, aws: MotoAws, command: str) -> None:
    for letter in "ab":
        dead_letter_event(aws, *(f"{letter}{number}" for number in range(5)))
    more = ["--file", "f", "--yes"] if command == "purge" else []
    for trial in (["--dry-run"], []) if command == "redrive" else ([],):
        ran = run("dlq", command, ARN, "--limit", "7", "--json", *more, *trial)
        assert ran.document["events"] == 7
    assert len(keys(aws, OWN)) == (7 if command == "redrive" else 0)
    assert len(keys(aws, DEAD)) == 3


def test_limit_counts_all_events_of_an_ingress_message(run: Run, aws: MotoAws) -> None:
    for names in ("abc", "def"):
        body = message(*map(record, names))
        put(aws, "Bucketcast-ingress-dead", dead_letter(body, "crash", "Crash"))
    for trial in (["--dry-run"], []):
        ran = run("dlq", "redrive", "ingress", "--limit", "2", "--json", *trial)
        assert ran.document["events"] == 3
    assert count(aws, "Bucketcast-ingress") == count(aws, "Bucketcast-ingress-dead") == 1


def test_limit_does_not_count_unusable_letters(run: Run, aws: MotoAws) -> None:
    for _ in range(3):
        put(aws, DEAD, dead_letter("hello", "no envelope"))
    dead_letter_event(aws, "a")
    document = run("dlq", "redrive", ARN, "--limit", "1", "--json").document
    assert document["events"] == 1
    assert sum(document["unusable"].values()) == 3
    assert "3 events left: no envelope" in run("dlq", "redrive", ARN).err
    assert count(aws, DEAD) == 3


def test_redrive_waits_to_keep_the_rate(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(redrive.Mover.run, "__defaults__", (None, slept.append))
    for number in range(6):
        dead_letter_event(aws, *(f"k{number}-{index}" for index in range(50)))
    assert run("dlq", "redrive", ARN, "--rate", "99.9").code == 0
    assert count(aws, DEAD) == 0
    # Half a second each: the clock hardly moves here.
    assert sum(slept) > 5 * 0.5


def test_fifo_queue_gets_a_group_and_a_token_for_each_event(run: Run, aws: MotoAws) -> None:
    fifo: Any = {"FifoQueue": "true"}
    for name, key in ((f"{OWN}.fifo", "queue"), (f"{DEAD}.fifo", "dead")):
        url = aws.sqs.create_queue(QueueName=name, Attributes=fifo)["QueueUrl"]
        aws.change(ARN, **{key: url})
    dead_letter_event(aws, *"abc", queue=f"{DEAD}.fifo")
    assert run("dlq", "redrive", ARN, "--limit", "2", "--json").document["events"] == 2
    (letter,) = received(aws.sqs, aws.queue(f"{DEAD}.fifo"))
    assert letter["Attributes"]["MessageGroupId"] != GROUP, "each dead letter is a group of its own"
    messages = received(aws.sqs, aws.queue(f"{OWN}.fifo"))
    groups = {message["Attributes"]["MessageGroupId"] for message in messages}
    tokens = {message["Attributes"]["MessageDeduplicationId"] for message in messages}
    assert (groups, len(tokens), len(messages)) == ({GROUP}, 2, 2)


def test_letters_of_a_removed_target_are_listed_and_redriven(run: Run, aws: MotoAws) -> None:
    aws.sqs.create_queue(QueueName="Bucketcast-webhook-old-dead")
    aws.sqs.create_queue(QueueName="Bucketcast-pipeline-dead")
    dead_letter_event(aws, "a", queue="Bucketcast-webhook-old-dead")
    assert cells(run("dlq", "ls").out)[1][0].startswith("Bucketcast-webhook-old-dead/")
    ran = run("dlq", "redrive", "Bucketcast-webhook-old-dead")
    assert ran.code == 1
    assert "--to" in ran.err
    assert "not allowed" in run("dlq", "redrive", "ingress", "--to", ARN).err
    assert run("dlq", "redrive", "Bucketcast-webhook-old-dead", "--to", "webhook:primary").code == 0
    assert keys(aws, OWN) == ["a"]


def test_purge_writes_the_file_before_it_removes(run: Run, aws: MotoAws, tmp_path: Path) -> None:
    dead_letter_event(aws, "in/a", "out/b")
    put(aws, DEAD, dead_letter("hello", "no envelope"))
    path = tmp_path / "gone.ndjson"
    assert "--file" in run("dlq", "purge", ARN, "--yes").err
    assert count(aws, DEAD) == 2
    document = run("dlq", "purge", ARN, "--prefix", "in/", "--file", str(path), "--yes", "--json")
    assert document.document["events"] == 1
    (line,) = path.read_text().splitlines()
    assert [event["key"] for event in json.loads(line)["events"]] == ["in/a"]
    assert path.stat().st_mode & 0o777 == 0o600
    again = run("dlq", "purge", ARN, "--file", str(path), "--yes")
    assert again.code == 1
    assert "exists already" in again.err
    assert count(aws, DEAD) == 2
    rest = tmp_path / "rest.ndjson"
    assert run("dlq", "purge", ARN, "--file", str(rest), "--yes").code == 0
    assert count(aws, DEAD) == 0
    assert len(rest.read_text().splitlines()) == 2


def test_purge_removes_nothing_when_the_disk_is_full(
    run: Run, aws: MotoAws, tmp_path: Path
) -> None:
    for number in range(30):
        dead_letter_event(aws, f"k{number}")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        ran = run("dlq", "purge", ARN, "--file", str(tmp_path / "f"), "--yes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ran.code == 1
    assert "nothing more is removed" in ran.err
    assert count(aws, DEAD) == 30


def test_purge_asks_for_confirmation(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_letter_event(aws, "a")
    for path, words, question in (
        ("f", [], "Remove all, about 1 message in webhook:primary?"),
        ("g", ["--prefix", "a"], "Remove those that match of about 1 message in"),
        ("h", ["--limit", "2"], "Remove 2 events at the most of all, about 1 message in"),
    ):
        monkeypatch.setattr("sys.stdin", Typed("n\n"))
        ran = run("dlq", "purge", ARN, "--file", path, *words)
        assert question in ran.out + ran.err
        assert ran.code == 1
    assert count(aws, DEAD) == 1
    assert run("dlq", "purge", ARN, "--file", "i", "--json").code == 2
