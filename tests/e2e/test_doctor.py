"""`bucketcast doctor` on the deployed stack: faults are planted, found with their hint, mended."""

from typing import Any

from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from tests.command_result import CommandResult
from tests.e2e.system import System


def doctor(system: System, *words: str) -> CommandResult:
    return system.bucketcast("doctor", *words, within=300)


def errors(system: System) -> tuple[int, list[dict[str, Any]]]:
    ran = doctor(system, "--json")
    return ran.code, [each for each in ran.document["findings"] if each["status"] == "error"]


def test_doctor_finds_nothing_wrong_with_a_healthy_system(system: System) -> None:
    ran = doctor(system, "--all", "--json")
    assert ran.code == 0, [each for each in ran.document["findings"] if each["status"] == "error"]
    seen = {(each["check"], each["status"]) for each in ran.document["findings"]}
    for check in ("queue", "queue-policy", "bucket"):
        assert (check, "ok") in seen
    for check in ("settings", "dns", "tcp", "tls", "login", "access"):
        assert (check, "ok") in seen


def test_doctor_finds_a_notification_of_a_removed_topic(system: System, prefix: str) -> None:
    gone = "arn:aws:sns:us-east-1::gone"
    put = ("s3:ObjectCreated:Put",)
    left = Rule(bucket="uploads", arn=gone, events=put, prefix=prefix, name="lost")
    Rules(system.outputs["StateTable"], system.client("dynamodb")).add(left)
    system.put("uploads", f"{prefix}a")
    steps = system.until(
        "the event in the logs",
        lambda: system.bucketcast("trace", f"s3://uploads/{prefix}a", "--json").document["steps"],
        lambda steps: any(step["what"] == "dropped" for step in steps),
    )
    assert [step["what"] for step in steps] == ["received", "dropped"]
    _, (one,) = errors(system)
    assert (one["check"], one["subject"]) == ("rule", gone)
    assert "1 notification of uploads send events to it" in one["found"]
    assert system.bucketcast(*one["command"].split()[1:]).code == 0
    assert errors(system) == (0, [])
