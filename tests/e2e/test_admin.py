"""`mc admin`, the real one, against the gateway: targets are made, shown, changed and removed."""

import json
from pathlib import Path

import pytest

from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.servers.redis import RedisServer


@pytest.fixture
def mc(system: System, tmp_path: Path) -> Mc:
    return Mc(system, tmp_path / "mc")


def test_commands_of_the_guide_deliver_an_event_to_redis(
    system: System, prefix: str, mc: Mc
) -> None:
    id_ = f"mc-{prefix[-7:-1]}"
    name, arn = f"notify_redis:{id_}", f"arn:minio:sqs::{id_}:redis"
    redis = system.consumers.redis
    assert isinstance(redis, RedisServer)
    settings = redis.settings(key=f"ev:{id_}", format="access")
    words = [f"{key}={text}" for key, text in settings.items()]
    done = mc("admin", "config", "set", "local", name, *words)
    assert "Successfully applied new settings." in done
    printed = mc("admin", "config", "get", "local", "notify_redis")
    (line,) = [each for each in printed.splitlines() if each.startswith(f"{name} ")]
    assert f'key="ev:{id_}"' in line
    assert 'password="*redacted*"' in line
    restarted = system.until(
        "what mc says of the restart: it may end without a word on a busy machine",
        lambda: mc("admin", "service", "restart", "local", "--json"),
        bool,
    )
    assert json.loads(restarted)["status"] == "success"
    info = system.until(
        "the target online, whose function may have to start",
        lambda: json.loads(mc("admin", "info", "local", "--json"))["info"],
        lambda seen: {"redis": [{id_: {"status": "online"}}]} in seen["services"]["notifications"],
    )
    assert arn in info["sqsARN"]
    ran = system.bucketcast("event", "add", "uploads", arn, "--event", "put", "--prefix", prefix)
    assert ran.code == 0, ran.err
    system.put("uploads", f"{prefix}photo.jpg")
    system.until(
        "the event in Redis",
        lambda: [each.body for each in redis.received(f"ev:{id_}")],
        lambda seen: any(prefix[:-1].encode() in body for body in seen),
    )
    mc("admin", "config", "set", "local", name, "enable=off")
    assert mc("admin", "config", "get", "local", name).startswith(f'# {name} enable="off"')
    exported = mc("admin", "config", "export", "local")
    assert "notify_webhook:primary" in exported
    assert "is successfully reset" in mc("admin", "config", "reset", "local", name)
    assert name not in mc("admin", "config", "export", "local")
    system.bucketcast("event", "rm", "uploads", arn, "--yes")
    system.bucketcast("target", "rm", arn, "--discard", "--yes")


def test_deployed_settings_are_shown_but_not_changed(mc: Mc) -> None:
    assert "notify_webhook:primary" in mc("admin", "config", "get", "local", "notify_webhook")
    words = ("admin", "config", "set", "local", "notify_webhook:primary", "endpoint=http://h")
    refused = mc.run(*words)
    assert refused.code == 1
    assert "is in bucketcast.toml: change it there and deploy" in refused.out + refused.err
    assert 'sync_events="off"' in mc("admin", "config", "get", "local", "api")
    refused = mc.run("admin", "config", "set", "local", "api", "sync_events=on")
    assert (refused.code, "is set by a deploy" in refused.out + refused.err) == (1, True)
    assert "publish bucket notifications to NATS" in mc("admin", "config", "get", "local")


def test_metrics_and_target_ls_count_sent_events(system: System, prefix: str, mc: Mc) -> None:
    arn = "arn:minio:sqs::primary:webhook"

    def sent() -> int:
        found = system.bucketcast("target", "ls", "--json").document["targets"]
        return int(next(each["events"]["sent"] for each in found if each["arn"] == arn))

    system.until_settled()  # else those of other tests would be counted too
    before = sent()
    system.add_rule("uploads", "webhook.primary", "--prefix", prefix, event="put")
    for number in range(3):
        system.put("uploads", f"{prefix}{number}")
    system.until_equal("all are counted", sent, before + 3)
    token = mc("admin", "prometheus", "generate", "local")
    assert "bearer_token" in token

    def metrics() -> tuple[int, int]:
        text = mc("admin", "prometheus", "metrics", "local", "cluster")
        total, waiting = (
            number_of(text, name, "primary", "webhook") for name in ("total_events", "queue_length")
        )
        return total, waiting

    system.until(
        "the metrics, which are kept for ten seconds and count failed attempts, too",
        metrics,
        lambda seen: seen[0] >= before + 3 and seen[1] == 0,
    )
    words = ("admin", "prometheus", "metrics", "local", "notification", "--api-version", "v3")
    assert "minio_notification_events_sent_total{" in mc(*words)


def number_of(text: str, name: str, id_: str, type_: str) -> int:
    """A target's number in Prometheus' text."""
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith(f"minio_notify_target_{name}{{")
        and f'target_id="{id_}"' in line
        and f'target_name="{type_}"' in line
    ]
    return int(line.rpartition(" ")[2])
