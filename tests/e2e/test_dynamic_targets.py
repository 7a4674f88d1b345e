"""A dynamic target: made, changed and removed by a call while all runs."""

from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.system import System
from tests.servers import webhook


def add(system: System, id_: str, *settings: str) -> dict[str, Any]:
    ran = system.bucketcast("target", "add", f"webhook:{id_}", *settings, "--json")
    assert ran.code == 0, ran.out
    return dict(ran.document)


def arrived(system: System, path: str, prefix: str) -> list[str]:
    """The keys of a test that arrived at a path of the webhook."""
    found = posted(system.consumers.webhook, f"uploads/{prefix}", path)
    return sorted({each.key.removeprefix("uploads/") for each in found})


def test_dynamic_target_works_like_one_of_the_deploy(system: System, prefix: str) -> None:
    id_ = f"one-{prefix[-7:-1]}"
    arn = f"arn:minio:sqs::{id_}:webhook"
    hook = system.consumers.webhook
    login = f"auth_token={webhook.TOKEN}"
    made = add(system, id_, f"endpoint=http://{hook.address}/first", login)
    assert (made["arn"], made["what"]) == (arn, "created")
    rule = ("event", "add", "uploads", arn, "--event", "put", "--prefix", prefix)
    assert system.bucketcast(*rule).code == 0
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
    assert arn in {step["target"] for step in steps["steps"]}
    assert system.bucketcast("event", "rm", "uploads", arn, "--yes").code == 0
    assert system.bucketcast("target", "rm", arn, "--discard", "--yes").code == 0
    assert (
        system.sqs.list_queues(QueueNamePrefix=f"Bucketcast-dynamic-webhook-{id_}").get(
            "QueueUrls", []
        )
        == []
    )
