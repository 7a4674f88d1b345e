"""Dynamic targets: 200 of them, used and removed, beside a deploy that goes on."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec
import pytest

from bucketcast import deployment as deployed
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.factory import dynamic_targets_of
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.rules import Rule
from bucketcast.state.dynamic_targets import DynamicTarget, Table
from bucketcast.state.rules import Rules
from tests.e2e.arrivals import posted
from tests.e2e.system import Aws, System
from tests.servers import webhook

PUT = "s3:ObjectCreated:Put"
MANY = 200
AT_ONCE = 8


@pytest.fixture
def targets(system: System) -> DynamicTargets:
    aws = Aws(system)
    return dynamic_targets_of(deployed.find("Bucketcast", aws), aws)


def stored(system: System) -> list[DynamicTarget]:
    return Table(system.outputs["StateTable"], system.client("dynamodb")).targets()


def arn(id_: str) -> str:
    return f"arn:minio:sqs::{id_}:webhook"


def add(system: System, id_: str, *settings: str) -> dict[str, Any]:
    ran = system.bucketcast("target", "add", f"webhook:{id_}", *settings, "--json")
    assert ran.code == 0, ran.out
    return dict(ran.document)


def rule(system: System, id_: str, prefix: str) -> None:
    words = ("event", "add", "uploads", arn(id_), "--event", "put", "--prefix", prefix)
    ran = system.bucketcast(*words)
    assert ran.code == 0, ran.err


def arrived(system: System, path: str, prefix: str) -> list[str]:
    """The keys of a test that arrived at a path of the webhook."""
    found = posted(system.consumers.webhook, f"uploads/{prefix}", path)
    return sorted({each.key.removeprefix("uploads/") for each in found})


def left(system: System, begin: str) -> dict[str, Any]:
    """What there is of targets whose ids begin so."""
    queues = system.sqs.list_queues(QueueNamePrefix=f"Bucketcast-dynamic-webhook-{begin}")
    pages = system.client("lambda").get_paginator("list_event_source_mappings").paginate()
    mapped = [each["EventSourceArn"] for page in pages for each in page["EventSourceMappings"]]
    named = system.client("secretsmanager").get_paginator("list_secrets").paginate()
    secrets = [each["Name"] for page in named for each in page["SecretList"]]
    watched = system.client("cloudwatch").get_paginator("describe_alarms").paginate()
    alarms = [each["AlarmName"] for page in watched for each in page["MetricAlarms"]]
    return {
        "alarms": [each for each in alarms if f"-dynamic-webhook-{begin}" in each],
        "queues": queues.get("QueueUrls", []),
        "mappings": [each for each in mapped if f"-dynamic-webhook-{begin}" in each],
        "secrets": [each for each in secrets if f"/dynamic/webhook-{begin}" in each],
    }


def test_dynamic_target_works_like_one_of_the_deploy(
    system: System, prefix: str, targets: DynamicTargets
) -> None:
    id_ = f"one-{prefix[-7:-1]}"
    hook = system.consumers.webhook
    login = f"auth_token={webhook.TOKEN}"
    made = add(system, id_, f"endpoint=http://{hook.address}/first", login)
    assert (made["arn"], made["what"]) == (arn(id_), "created")
    rule(system, id_, prefix)
    system.put("uploads", f"{prefix}a.jpg")
    system.until_equal("it arrived", lambda: arrived(system, "/first", prefix), [f"{prefix}a.jpg"])
    assert system.fares()[f"webhook.{id_}"]["online"] is True
    changed = add(system, id_, f"endpoint=http://{hook.address}/second", "--merge")
    assert changed["what"] == "changed"
    system.put("uploads", f"{prefix}b.jpg")
    system.until_equal("it moved", lambda: arrived(system, "/second", prefix), [f"{prefix}b.jpg"])
    steps = system.until(
        "its trace",
        lambda: system.bucketcast("trace", f"s3://uploads/{prefix}a.jpg", "--json").document,
        lambda seen: "delivered" in [step["what"] for step in seen["steps"]],
    )
    assert arn(id_) in {step["target"] for step in steps["steps"]}
    assert webhook.TOKEN not in json.dumps([msgspec.to_builtins(t) for t in stored(system)])
    system.bucketcast("event", "rm", "uploads", arn(id_), "--yes")
    targets.remove(TargetArn(id_, "webhook"), discard=True)
    assert left(system, id_) == {"queues": [], "mappings": [], "secrets": [], "alarms": []}


def test_two_hundred_targets_are_made_used_and_removed(
    system: System, prefix: str, targets: DynamicTargets
) -> None:
    """The last is made by as many calls as the first, and nothing of them is left."""
    hook = system.consumers.webhook
    ids = [f"many-{prefix[-7:-1]}-{number}" for number in range(MANY)]

    def make(id_: str) -> None:
        endpoint = f"http://{hook.address}/many"
        targets.put("webhook", id_, {"endpoint": endpoint, "auth_token": webhook.TOKEN})

    first = calls_of(system, lambda: make(ids[0]))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(make, ids[1:-1]))
    assert calls_of(system, lambda: make(ids[-1])) == first
    assert len([each for each in stored(system) if each.id in ids]) == MANY
    rules = Rules(system.outputs["StateTable"], system.client("dynamodb"))
    made = [
        Rule(bucket="uploads", arn=arn(id_), events=(PUT,), prefix=f"{prefix}{at}/")
        for at, id_ in enumerate(ids)
    ]
    for each in made:
        rules.add(each)
    for start in range(0, MANY, AT_ONCE):
        part = range(start, min(start + AT_ONCE, MANY))
        for at in part:
            system.put("uploads", f"{prefix}{at}/x")
        expected = sorted(f"{prefix}{at}/x" for at in range(part.stop))
        look = partial(arrived, system, "/many", prefix)
        system.until_equal("each at its target", look, expected)
    rules.remove(made)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda id_: targets.remove(TargetArn(id_, "webhook"), discard=True), ids))
    begin = f"many-{prefix[-7:-1]}-"
    assert left(system, begin) == {"queues": [], "mappings": [], "secrets": [], "alarms": []}
    assert [each for each in stored(system) if each.id in ids] == []


def calls_of(system: System, act: Callable[[], None]) -> list[str]:
    """The calls to AWS that something makes, in order."""
    calls: list[str] = []

    def count(model: Any, **_: Any) -> None:
        calls.append(model.name)

    clients = [system.client(each) for each in ("sqs", "lambda", "secretsmanager", "dynamodb")]
    for client in clients:
        client.meta.events.register("before-call", count)
    act()
    for client in clients:
        client.meta.events.unregister("before-call", count)
    return calls
