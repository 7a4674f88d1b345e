"""The deployed stack's metrics: latency by target."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.system import System


def test_latency_is_written_by_target(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    target = system.targets["webhook.primary"]
    rule("webhook.primary")
    begun = round(time.time() * 1_000)
    system.put("uploads", f"{prefix}a.jpg")
    system.until(
        "the event",
        lambda: posted(system.consumers.webhook, f"uploads/{prefix}"),
        lambda seen: len(seen) == 1,
    )
    logs = system.client("logs")

    def metrics() -> list[dict[str, Any]]:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=f"/aws/lambda/{target['function']}", startTime=begun - 1_000
        )
        return [line for page in pages for each in page["events"] for line in _emf(each["message"])]

    found = system.until("its latency", metrics, bool)
    assert {each["target"] for each in found} == {target["arn"]}
    latency = found[-1]["DeliveryLatency"]
    assert (latency if isinstance(latency, float) else latency["Max"]) >= 0


def _emf(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        with suppress(ValueError):
            document = json.loads(line)
            if isinstance(document, dict) and "DeliveryLatency" in document:
                found.append(document)
    return found
