"""`bucketcast trace` on the deployed stack."""

from collections.abc import Callable
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.receiver import Answer

FLAKY = "arn:minio:sqs::flaky:webhook"
PRIMARY = "arn:minio:sqs::primary:webhook"


def traced(system: System, key: str) -> list[dict[str, Any]]:
    ran = system.bucketcast("trace", f"s3://uploads/{key}", "--json")
    assert ran.code == 0, ran.err
    return list(ran.document["steps"])


def test_trace_finds_an_event_that_was_retried_and_then_delivered(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky, key = system.consumers.flaky, f"{prefix}late.jpg"
    rule("webhook.flaky", "webhook.primary")
    flaky.answer(Answer(status=503, headers={"Retry-After": "1"}, body="soon", match=prefix))
    try:
        system.put("uploads", key)
        system.until(
            "a refused try in the logs",
            lambda: traced(system, key),
            lambda steps: any(step["what"] == "retried" for step in steps),
        )
    finally:
        flaky.answer()
    arrived = {f"uploads/{key}"}
    system.until_equal(
        "the key at the webhook",
        lambda: {one.key for one in posted(flaky, f"uploads/{prefix}")},
        arrived,
        within=RETURN_SECONDS,
    )
    steps = system.until(
        "its delivery in the logs",
        lambda: traced(system, key),
        lambda steps: sum(step["what"] == "delivered" for step in steps) == 2,
    )
    assert steps[0]["what"] == "received"
    assert {step["target"] for step in steps if step["what"] == "queued"} == {FLAKY, PRIMARY}
    own = [step for step in steps if step["target"] == FLAKY and step["what"] != "queued"]
    assert [step["what"] for step in own] == ["retried"] * (len(own) - 1) + ["delivered"]
    assert "503" in own[0]["why"]
