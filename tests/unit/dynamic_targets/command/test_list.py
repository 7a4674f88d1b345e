import time

import pytest
from botocore.exceptions import ReadTimeoutError

from bucketcast.delivery.breaker import Outage
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counts, Last
from bucketcast.terminal.times import moment
from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import TABLE, WEBHOOK, MotoAws, refusal

QUEUE = "Bucketcast-webhook-primary"


def test_ls_counts_messages_and_shows_which_targets_are_online(run: Run, aws: MotoAws) -> None:
    aws.sqs.send_message(QueueUrl=aws.queue(QUEUE), MessageBody="one")
    aws.sqs.send_message(QueueUrl=aws.queue(QUEUE), MessageBody="two", DelaySeconds=60)
    aws.sqs.send_message(QueueUrl=aws.queue(f"{QUEUE}-dead"), MessageBody="x")
    aws.answers[QUEUE] = {
        "online": False,
        "why": "connection refused",
        "where": "http://example.org/",
    }
    document = run("target", "ls", "--json").document
    listed = document["targets"][1]
    unknown = "topic since oldest paused breaker last_success last_failure"
    assert {key for key, value in listed.items() if value is None} == set(unknown.split())
    assert {key: value for key, value in listed.items() if value is not None} == {
        "arn": WEBHOOK,
        "kind": "webhook",
        "id": "primary",
        "enabled": True,
        "made": "by the deploy",
        "state": "offline",
        "last_tries": {"tried": 0, "taken": 0},
        "where": "http://example.org/",
        "online": False,
        "why": "connection refused",
        "waiting": 2,
        "in_flight": 0,
        "dead": 1,
        "events": {"sent": 0, "failed": 0, "dead": 0, "skipped": 0},
    }
    assert document["others"] == []
    assert cells(run("target", "ls").out) == [
        ["TARGET", "STATE", "WAITING", "DEAD", "OLDEST", "LAST OK"],
        ["postgres:main", "online", "0", "0", "-", "-"],
        ["webhook:primary", "offline", "2", "1", "-", "-"],
        ["webhook:primary: connection refused"],
    ]


def test_ls_shows_counts_of_sent_and_dropped_events(run: Run, aws: MotoAws) -> None:
    missing, topic = "arn:minio:sqs::gone:webhook", "arn:aws:sns:r::once"
    aws.counters.add(WEBHOOK, Counts(sent=5, failed=2, dead=1))
    aws.counters.add(missing, Counts(skipped=3))
    aws.counters.add(topic, Counts(sent=4, dead=2))
    document = run("target", "ls", "--json").document
    events = {entry["arn"]: entry["events"] for entry in document["targets"]}
    assert events[WEBHOOK] == {"sent": 5, "failed": 2, "dead": 1, "skipped": 0}
    assert document["others"] == [
        {"arn": topic, "events": {"sent": 4, "failed": 0, "dead": 2, "skipped": 0}},
        {"arn": missing, "events": {"sent": 0, "failed": 0, "dead": 0, "skipped": 3}},
    ]
    ran = run("target", "ls")
    assert ran.err == (
        "note: 3 events for webhook:gone dropped: there was no such target or topic\n"
    )


def test_ls_table_fits_a_terminal_with_long_reasons(run: Run, aws: MotoAws) -> None:
    aws.counters.add(WEBHOOK, Counts(sent=123_456_789), Last(success=1, oldest=1))
    for _ in range(3):
        aws.sqs.send_message(QueueUrl=aws.queue(QUEUE), MessageBody="x")
    aws.answers[QUEUE] = {"online": False, "why": "no " * 100, "where": "http://example.org/"}
    *table, reasons = run("target", "ls").out.splitlines()
    assert max(map(len, table)) <= 80
    assert len(reasons) > 300


def test_ls_shows_a_targets_last_success_and_error(run: Run, aws: MotoAws) -> None:
    now = round(time.time() * 1_000)
    last = Last(now - 60_000, now - 7_200_000, "Throttled", "too much", now - 180_000)
    aws.counters.add(WEBHOOK, Counts(sent=1), last)
    listed = run("target", "ls", "--json").document["targets"][1]
    assert (listed["oldest"], listed["last_success"]) == (None, moment(now - 60_000))
    failure = {"at": moment(now - 7_200_000), "error": "Throttled", "reason": "too much"}
    assert listed["last_failure"] == failure
    aws.sqs.send_message(QueueUrl=aws.queue(QUEUE), MessageBody="one")
    _, _, row, why = cells(run("target", "ls").out)
    assert row[1:] == ["online", "1", "0", "3m", "1m ago"]
    assert why == ["webhook:primary: last error 2h ago: Throttled: too much"]
    # Another batch had older events, which wait, and nothing more was delivered.
    aws.counters.add(WEBHOOK, Counts(), Last(oldest=now - 86_400_000))
    listed = run("target", "ls", "--json").document["targets"][1]
    assert listed["oldest"] == moment(now - 86_400_000)
    assert listed["last_success"] == moment(now - 60_000)


@pytest.mark.parametrize(
    ("answer", "online", "why"),
    [
        ({"errorMessage": "Task timed out", "errorType": "X"}, False, "failed: Task timed out"),
        (ReadTimeoutError(endpoint_url="x"), False, "did not answer in time"),
        (refusal("AccessDeniedException", "Invoke"), None, "not allowed: Invoke"),
        (refusal("ResourceNotFoundException", "Invoke"), None, "ResourceNotFoundException"),
    ],
)
def test_ls_shows_other_targets_if_a_function_does_not_answer(
    run: Run, aws: MotoAws, answer: object, online: object, why: str
) -> None:
    aws.answers[QUEUE] = answer
    ran = run("target", "ls", "--json")
    assert ran.code == 0
    other, listed = ran.document["targets"]
    assert other["online"] is True
    assert (listed["online"], listed["waiting"]) == (online, 0)
    assert why in listed["why"]


def test_ls_works_without_a_queue(run: Run, aws: MotoAws) -> None:
    aws.sqs.delete_queue(QueueUrl=aws.queue(QUEUE))
    document = run("target", "ls", "--json").document
    assert document["targets"][1]["waiting"] is None
    assert "NonExistentQueue" in document["targets"][1]["why"]
    assert "?" in run("target", "ls").out


def test_a_stack_without_targets_is_reported(run: Run, aws: MotoAws) -> None:
    for key in [key for key in aws.outputs if key.startswith("Target")]:
        del aws.outputs[key]
    ran = run("target", "ls")
    assert "has no target" in ran.said(0)
    assert ran.out == ""


def test_ls_shows_disabled_targets(run: Run, aws: MotoAws) -> None:
    aws.change(WEBHOOK, enabled=False)
    assert "off: events are queued" in run("target", "ls").out
    assert run("target", "ls", "--json").document["targets"][1]["enabled"] is False


def test_ls_shows_pauses_and_open_breakers(run: Run, aws: MotoAws) -> None:
    breakers = Breakers(TABLE, lambda: aws.dynamodb)
    outage = Outage(1_800_000_000_000, 1_800_000_060_000, error="NotConnected", reason="refused")
    breakers.of(WEBHOOK).record(outage, probed=False)
    breakers.pause(WEBHOOK, 1_800_000_300_000)
    assert "paused since 2027-01-15T08:05:00Z" in run("target", "ls").out
    listed = run("target", "ls", "--json").document["targets"][1]
    assert listed["paused"] == "2027-01-15T08:05:00Z"
    assert listed["breaker"] == {
        "open_since": "2027-01-15T08:00:00Z",
        "next_try": "2027-01-15T08:01:00Z",
        "failed_tries": 1,
        "error": "NotConnected",
        "reason": "refused",
    }
