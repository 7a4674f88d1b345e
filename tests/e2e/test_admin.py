"""`mc admin`, the real one, against the gateway: a target is made, shown, changed and removed."""

import json

from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.servers.redis import RedisServer


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
    system.bucketcast("target", "rm", arn, "--discard", "--rules", "--yes")
