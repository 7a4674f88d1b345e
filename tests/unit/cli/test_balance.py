"""The balance: what the functions counted beside what the queues hold."""

import time

import pytest

from bucketcast.aws import balances
from bucketcast.aws.balances import HOUR_SECONDS, balance
from bucketcast.aws.counters import Counters, Counts, HourCounts, Last
from tests.unit.aws import TABLE, MotoAws
from tests.unit.cli.conftest import Run, cells

HOOK, NAME = "arn:minio:sqs::primary:webhook", "Bucketcast-webhook-primary"
NOW = int(time.time()) // HOUR_SECONDS


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balances, "_PAUSE_SECONDS", 0.0)


def counted(aws: MotoAws, *, hour: int = NOW, **numbers: int) -> Counters:
    counters = Counters(TABLE, lambda: aws.dynamodb)
    counters.add_hours(HOOK, {hour: HourCounts(**numbers)}, Last())
    return counters


@pytest.mark.parametrize(
    ("hours", "messages", "missing"),
    [
        ({NOW: HourCounts(received=10, sent=7, dead=2, discarded=1)}, 0, {}),
        ({NOW: HourCounts(received=10, sent=7)}, 0, {NOW: 3}),
        ({NOW: HourCounts(received=10, sent=7)}, 1, {}),
        ({NOW: HourCounts(received=10, sent=7)}, None, {}),
        ({NOW: HourCounts(received=10, sent=7, accepted=3)}, 0, {}),
        ({NOW: HourCounts(received=1_700)}, 1, {NOW: 700}),
        ({NOW: HourCounts(received=999), NOW - 1: HourCounts(received=5)}, 1, {NOW - 1: 4}),
        ({NOW: HourCounts(sent=4), NOW - 1: HourCounts(received=3)}, 0, {NOW - 1: 3}),
        ({NOW - 40 * 24: HourCounts(received=3)}, 9, {}),  # redriven, and waits again
        ({NOW - 91 * 24: HourCounts(received=3)}, 9, {NOW - 91 * 24: 3}),
    ],
)  # fmt: skip
def test_events_are_missing_that_no_message_can_hold(
    hours: dict[int, HourCounts], messages: int | None, missing: dict[int, int]
) -> None:
    assert balance(HOOK, hours, messages, NOW).missing == missing


def test_a_balance_ends_with_0_and_a_missing_event_with_1(run: Run, aws: MotoAws) -> None:
    counted(aws, received=1_200, sent=1_199)
    aws.sqs.send_message(QueueUrl=aws.queue(NAME), MessageBody="x")
    ran = run("balance")
    assert ran.code == 0
    head, row = cells(ran.out)
    assert head[2:] == ["RECEIVED", "DELIVERED", "DEAD", "DISCARDED", "WAITING", "MISSING"]
    assert row[2:] == ["1,200", "1,199", "0", "0", "1", "0"]
    aws.sqs.purge_queue(QueueUrl=aws.queue(NAME))
    ran = run("balance", "--target", "webhook:primary")
    assert (ran.code, cells(ran.out)[1][-2:]) == (1, ["0", "1"])
    assert f"1 events of {HOOK} are missing" in ran.err
    document = run("balance", "--json").document
    assert (document["balanced"], document["missing"]) == (False, 1)
    assert document["targets"][0]["hours"][0]["missing"] == 1
    assert run("balance", "--target", "arn:minio:sqs::main:postgresql").code == 0


def test_accepted_events_are_reported_no_more(run: Run, aws: MotoAws) -> None:
    counted(aws, received=3, hour=NOW - 100)
    assert run("balance").code == 1
    assert "accepted 3 missing events" in run("balance", "--accept").err
    assert run("balance").code == 0


def test_repeats_are_shown_and_no_loss(run: Run, aws: MotoAws) -> None:
    counted(aws, received=3, sent=4)
    ran = run("balance")
    assert (ran.code, cells(ran.out)[0][-1], cells(ran.out)[1][-1]) == (0, "REPEATED", "1")


def test_without_counts_there_is_nothing_to_show(run: Run) -> None:
    ran = run("balance")
    assert (ran.code, ran.out) == (0, "")
    assert "no target was sent an event" in ran.err
    assert run("balance", "--hours", "0").code == 2
    assert run("balance", "--target", "webhook:primray").code == 1


def test_old_hours_that_balance_are_added_up(aws: MotoAws) -> None:
    old = NOW - 100
    counters = counted(aws, hour=old, received=5, sent=4, dead=1, failed=2)
    counters.add_hours(HOOK, {old: HourCounts(sent=1)}, Last(success=7, failure=7, reason="so"))
    counted(aws, hour=old + 1, received=1)
    counted(aws, received=2, sent=2)
    before = counters.read()
    (found,) = balances.balances(counters, lambda _: 0)
    assert not counters.fold(HOOK, old, HourCounts(received=4)), "changed meanwhile"
    balances.fold(counters, found)
    assert counters.hours()[HOOK].keys() == {old + 1, NOW}
    assert counters.read() == before == {HOOK: Counts(sent=7, failed=2, dead=1)}
    assert counters.last()[HOOK] == Last(success=7, failure=7, reason="so")
