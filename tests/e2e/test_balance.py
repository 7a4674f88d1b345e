"""Pausing a target, and whether what it received adds up."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.system import System

FLAKY = "webhook.flaky"


@contextmanager
def paused(system: System, arn: str) -> Iterator[None]:
    """Pause a target for a while."""
    ran = system.bucketcast("target", "pause", arn, "--json")
    assert (ran.code, ran.document["changed"], ran.document["unconfirmed"]) == (0, True, "")
    try:
        yield
    finally:
        assert system.bucketcast("target", "resume", arn).code == 0


def balance(system: System, arn: str) -> tuple[int, dict[str, Any]]:
    """The exit code of the command, and what it says of a target."""
    ran = system.bucketcast("balance", "--target", arn, "--json")
    found = [each for each in ran.document["targets"] if each["arn"] == arn]
    return ran.code, found[0] if found else {"waiting": 0, "missing": 0, "repeated": 0, "hours": []}


def looked(system: System) -> dict[str, int]:
    """What the schedule's look finds missing, by target."""
    answer = system.client("lambda").invoke(
        FunctionName="Bucketcast-ingest", Payload=json.dumps({"balance": True}).encode()
    )
    found: dict[str, int] = json.loads(answer["Payload"].read())["missing"]
    return found


def test_a_paused_target_waits_and_a_message_deleted_by_hand_is_missed(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    arn, queue = (system.targets[FLAKY][name] for name in ("arn", "queue"))
    rule(FLAKY)
    system.until_settled()
    _, before = balance(system, arn)
    assert before["missing"] == 0
    with paused(system, arn):
        system.put("uploads", f"{prefix}deleted.jpg")
        waiting = before["waiting"] + 1
        system.until(
            "the event counted as waiting",
            lambda: balance(system, arn),
            lambda seen: seen[1]["waiting"] == waiting,
        )
        assert posted(system.consumers.flaky, f"uploads/{prefix}") == []
        assert system.fares()[FLAKY]["paused"]
        code, _ = balance(system, arn)
        assert (code, looked(system)) == (0, {})
        system.sqs.purge_queue(QueueUrl=queue)
        code, found = balance(system, arn)
        assert (code, found["missing"]) == (1, 1)
        assert looked(system) == {arn: 1}
        assert system.bucketcast("balance", "--target", arn, "--accept").code == 0
        assert looked(system) == {}
        system.put("uploads", f"{prefix}kept.jpg")
    system.until_equal(
        "what came in the pause, after it",
        lambda: [each.key for each in posted(system.consumers.flaky, f"uploads/{prefix}")],
        [f"uploads/{prefix}kept.jpg"],
    )
    system.until_settled()
    code, found = balance(system, arn)
    assert (code, found["waiting"], found["missing"]) == (0, 0, 0)
