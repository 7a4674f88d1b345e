"""`bucketcast stats`: what was counted beside what the queues hold."""

from bucketcast.aws.counters import TOPICS, Counters, Counts, Triggered
from tests.unit.aws import TABLE, MotoAws
from tests.unit.cli.conftest import Run, cells

HOOK = "arn:minio:sqs::primary:webhook"
GONE = "arn:minio:sqs::gone:webhook"
MIRROR = "arn:minio:sqs::main:postgresql"


def test_stats_shows_every_target_and_those_that_are_gone(run: Run, aws: MotoAws) -> None:
    counters = Counters(TABLE, lambda: aws.dynamodb)
    counters.add(HOOK, Counts(sent=5, failed=2, dead=1))
    counters.add(GONE, Counts(skipped=3))
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-webhook-primary"), MessageBody="x")
    assert cells(run("stats").out) == [
        ["ARN", "SENT", "FAILED TRIES", "DEAD", "SKIPPED", "IN FLIGHT", "WAITING"],
        [GONE, "0", "0", "0", "3", "0", "0"],
        [MIRROR, "0", "0", "0", "0", "0", "0"],
        [HOOK, "5", "2", "1", "0", "0", "1"],
    ]
    found = run("stats", "--json").document["targets"][2]
    assert found == {
        "arn": HOOK,
        "sent": 5,
        "failed": 2,
        "dead": 1,
        "skipped": 0,
        "in_flight": 0,
        "waiting": 1,
    }


def test_a_queue_that_cannot_be_read_is_no_reason_to_fail(run: Run, aws: MotoAws) -> None:
    aws.sqs.delete_queue(QueueUrl=aws.queue("Bucketcast-webhook-primary"))
    rows = {row[0]: row for row in cells(run("stats").out)}
    assert rows[HOOK][-2:] == ["?", "?"]


def test_topics_have_ceph_s_counters(run: Run, aws: MotoAws) -> None:
    assert "topics" not in run("stats").err
    counters = Counters(TABLE, lambda: aws.dynamodb)
    counters.add("arn:aws:sns:r::t1", Counts(sent=5, dead=2))
    counters.add(TOPICS, Triggered(7))
    ran = run("stats")
    assert TOPICS not in ran.out
    assert "pubsub_event_triggered 7, pubsub_event_lost 2, pubsub_push_ok 5" in ran.err
    assert run("stats", "--json").document["topics"] == {
        "pubsub_event_triggered": 7,
        "pubsub_event_lost": 2,
        "pubsub_push_ok": 5,
        "pubsub_push_fail": 2,
        "pubsub_push_pending": 0,
    }
