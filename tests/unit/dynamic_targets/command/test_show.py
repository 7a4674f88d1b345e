"""`bucketcast target show`, and `target ls --watch`."""

import time
from typing import NoReturn

import pytest

from bucketcast.dynamic_targets.command import watching
from bucketcast.state.counters import Counts, Last
from tests.unit.conftest import Run
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure, refusal

QUEUE = "Bucketcast-webhook-primary"


def fail(aws: MotoAws) -> None:
    last = Last(failure=round(time.time() * 1_000), error="Throttled", reason="503")
    aws.sqs.send_message(QueueUrl=aws.queue(QUEUE), MessageBody="x")
    aws.counters.add(WEBHOOK, Counts(failed=9), last)


def test_show_has_all_but_the_secrets(run: Run, aws: MotoAws) -> None:
    configure(
        QUEUE,
        endpoint="https://u:hunter2@example.org/hook",
        auth_token="hunter2",
        of_a_later_release="hunter2",
        reference="secret:hook",
        comment="",
    )
    fail(aws)
    run("event", "add", "uploads", "webhook:primary", "--event", "put", "--prefix", "in/")
    run("event", "add", "uploads", "postgres:main", "--event", "put")
    ran = run("target", "show", "webhook:primary")
    shown = [line.partition(": ")[::2] for line in ran.out.splitlines()]
    assert ("STATE", "failing") in shown
    assert ("QUEUE", aws.queue(QUEUE)) in shown
    assert ("RULES", "1 rule") in shown
    assert "0 of its last 9 tries went through" in dict(shown)["NOTE"]
    document = run("target", "show", WEBHOOK, "--json").document
    (listed,) = [
        each
        for each in run("target", "ls", "--json").document["targets"]
        if each["id"] == "primary"
    ]
    assert document.items() >= listed.items()
    assert [rule["prefix"] for rule in document["rules"]] == ["in/"]
    settings = document["settings"]
    assert settings.keys() == {"auth_token", "endpoint", "of_a_later_release", "reference"}
    assert (settings["auth_token"], settings["reference"]) == ("***", "secret:hook")
    assert "hunter2" not in ran.out + str(document)
    run("event", "disable", "uploads", document["rules"][0]["id"])
    assert "prefix='in/' suffix='' off" in run("target", "show", "webhook:primary").out
    assert run("target", "show", "webhook:nosuch").code == 1


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch, aws: MotoAws) -> None:
    """No target can be asked.

    After a round nothing changes, for the next two AWS refuses, after the third a target fails,
    then Ctrl-C is pressed.
    """
    aws.answers.clear()
    describe, rounds = aws.cloudformation.describe_stacks, iter(range(4))

    def refuse(**_: str) -> NoReturn:
        raise refusal("Throttling", message="rate exceeded")

    def wait(_: float) -> None:
        number = next(rounds, None)
        if number is None:
            raise KeyboardInterrupt
        read = refuse if number in (1, 2) else describe
        monkeypatch.setattr(aws.cloudformation, "describe_stacks", read)
        if number == 3:
            fail(aws)

    monkeypatch.setattr(f"{watching.__name__}.time.sleep", wait)


def test_watch_prints_a_line_per_change_in_a_pipe(run: Run, rounds: None) -> None:  # noqa: ARG001
    ran = run("target", "ls", "--watch")
    assert ran.code == 0
    lines = [line.split()[1:3] for line in ran.out.splitlines()]
    assert lines[-1] == ["webhook:primary", "failing"]
    assert sorted(lines[:-1]) == [["postgres:main", "online"], ["webhook:primary", "online"]]
    assert ran.err.count("rate exceeded") == 1
    assert run("target", "ls", "--watch", "--json").code == 2


def test_watch_draws_the_table_again_on_a_terminal(
    run: Run,
    rounds: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "is_terminal", lambda: True)
    ran = run("target", "ls", "--watch")
    assert (ran.code, ran.out.count("TARGET")) == (0, 3)
    assert ran.out.count("failing") == 1
