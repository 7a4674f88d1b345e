"""What a deployment costs: the arithmetic by hand."""

import tomllib
from typing import Any

import pytest

from bucketcast.config import load
from bucketcast.cost import estimate
from bucketcast.cost.bill import Bill

ARN = "arn:minio:sqs::primary:webhook"
HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
BULK = HOOK + '[notify_webhook.primary.deploy]\nprofile = "throughput"\n'


def bill_of(text: str, events_a_day: float, **more: Any) -> Bill:
    """The bill of a configuration for so many events."""
    deployment = load(tomllib.loads(text), {}, local=False)
    return estimate.estimate(deployment, estimate.Load(events_a_day=events_a_day, **more))


def dollars(bill: Bill, service: str, what: str, target: str = "") -> float:
    (line,) = [
        one for one in bill.lines if (one.service, one.what, one.target) == (service, what, target)
    ]
    return bill.dollars(line)


def test_a_month_of_a_million_events_one_at_a_time_by_hand() -> None:
    """A million events in 30 days: 0.39 a second, so each is a batch of its own."""
    bill = bill_of(HOOK, 1_000_000 / 30)
    # S3 sends; ingest receives and deletes; on the target's queue: send and the same two.
    assert dollars(bill, "SQS", "sent to the ingress queue by S3") == pytest.approx(0.40)
    assert dollars(bill, "SQS", "received and deleted by ingest") == pytest.approx(0.80)
    assert dollars(bill, "SQS", "its queue", ARN) == pytest.approx(1.20)
    assert dollars(bill, "Lambda", "calls of ingest") == pytest.approx(0.20)
    # 15.20 ms of half a GB; 15.13 ms and the webhook's 50 ms.
    assert dollars(bill, "Lambda", "time of ingest") == pytest.approx(0.10133, rel=1e-3)
    assert dollars(bill, "Lambda", "time", ARN) == pytest.approx(0.43423, rel=1e-3)
    assert dollars(bill, "DynamoDB", "reads of rules") == pytest.approx(0.25)
    assert dollars(bill, "DynamoDB", "reads of its breaker", ARN) == pytest.approx(0.0625)
    # Once a minute.
    assert dollars(bill, "DynamoDB", "counters", ARN) == pytest.approx(0.027)
    assert dollars(bill, "CloudWatch", "logs of ingest") == pytest.approx((373 + 27) * 5e-4)
    assert dollars(bill, "CloudWatch", "alarms", ARN) == pytest.approx(0.30)
    assert dollars(bill, "SQS", "polls of its queue when idle", ARN) == pytest.approx(0.2592)
    variable = 0.40 + 0.80 + 1.20 + 0.40 + 0.5356 + 0.3395 + (400 + 428) * 5e-4
    assert bill.per_million(bill.total(fixed=False)) == pytest.approx(variable, rel=1e-3)


def test_a_thousand_a_second_by_hand() -> None:
    bill = bill_of(BULK, 1_000 * 86_400)
    sent = dollars(bill, "SQS", "sent to the ingress queue by S3")
    assert bill.per_million(sent) == pytest.approx(0.40)
    # 201 at once, which took 101 receives and 21 deletes.
    received = dollars(bill, "SQS", "received and deleted by ingest")
    assert bill.per_million(received) == pytest.approx((1 / 2 + 20.6 / 201) * 0.40)


def test_costs_of_sources_jobs_and_the_dashboard_by_hand() -> None:
    text = 'dashboard = "on"\n[bucket.uploads]\nvia = "eventbridge"\n[pipeline]\n' + (
        'execution_class = "{}"\n[scan.uploads]\nschedule = "rate(1 day)"\n' + HOOK
    )
    standard, flex = (bill_of(text.format(each), 864_000) for each in ("standard", "flex"))
    assert dollars(standard, "EventBridge", "events of buckets") == pytest.approx(25.92)
    assert dollars(standard, "CloudWatch", "dashboard") == pytest.approx(3.0)
    # Ten DPU for ten minutes, thirty times.
    assert dollars(standard, "Glue", "scans of uploads") == pytest.approx(50 * 0.44)
    assert dollars(flex, "Glue", "scans of uploads") == pytest.approx(50 * 0.29)


def test_a_month_of_a_listener_by_hand() -> None:
    text = HOOK + '[gateway]\nfunction_url = "on"\nlisten_concurrency = 10\n'
    bill = bill_of(text, 0)
    assert dollars(bill, "Lambda", "time of listeners") == pytest.approx(
        30 * 86_400 / 4 * 0.0000133334
    )
    calls = 30 * 86_400 / 15
    assert dollars(bill, "Lambda", "calls of listeners") == pytest.approx(calls * 0.2 / 1e6)
    assert bill.total() - bill_of(HOOK, 0).total() == pytest.approx(10.94, abs=0.005)


def test_target_with_a_share_costs_its_share() -> None:
    whole, fifth = (bill_of(HOOK, 86_400, shares=shares) for shares in ({}, {ARN: 0.2}))
    for service, what in (("SQS", "its queue"), ("Lambda", "time"), ("CloudWatch", "logs")):
        assert dollars(fifth, service, what, ARN) == pytest.approx(
            dollars(whole, service, what, ARN) / 5
        )


def test_three_idle_targets_by_hand() -> None:
    """With what is on by default: polls, alarms, two secrets and the key of the alarms' topic."""
    text = HOOK + 'auth_token = "secret:hook"\n[alarms]\nemail = "ops@example.org"\n'
    text += '[notify_postgres.a]\nconnection_string = "secret:pg"\ntable = "events"\n'
    text += '[notify_redis.b]\naddress = "redis.example.org:6379"\nkey = "events"\n'
    bill = bill_of(text, 0)
    metrics = [one for one in bill.lines if one.what == "metrics"]
    idle = bill.total(fixed=True) - sum(map(bill.dollars, metrics))
    polls, alarms, secrets, key = 4 * 0.2592, 4 * 0.30 + 0.10, 2 * 0.40, 1.00
    assert idle == pytest.approx(polls + alarms + secrets + key)
    kinds = '[dynamic_targets]\nkinds = ["redis", "webhook"]\n'
    assert bill_of(text + kinds, 0).total() - bill.total() == pytest.approx(0.2592)
