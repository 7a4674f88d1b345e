"""Functions: the event source mappings that bring them messages, their roles and secrets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bucketcast.doctor import BY_HAND, Finding

_WORKS = ("Enabled", "Enabling", "Creating", "Updating")
_REPORTS = "ReportBatchItemFailures"
READ_QUEUE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")
WRITE_QUEUE = ("sqs:SendMessage",)
READ_SECRET = ("secretsmanager:GetSecretValue",)
READ_RULES = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")


class Need(NamedTuple):
    """Actions that a function needs on one resource."""

    actions: tuple[str, ...]
    resource: str


def function(subject: str, name: str, found: Mapping[str, Any] | None) -> Finding:
    """Check a function by Lambda's configuration of it, None for one that does not exist."""
    if found is None:
        hint = f"{BY_HAND}: remove the stack's part it belongs to, deploy, add it, deploy"
        return Finding("function", subject, "error", f"the function {name} does not exist", hint)
    state = found.get("State", "Active")
    last = found.get("LastUpdateStatus", "Successful")
    if state == "Failed" or last == "Failed":
        why = found.get("StateReason") or found.get("LastUpdateStatusReason") or "no reason given"
        hint = "fix what the reason names, then deploy again"
        return Finding("function", subject, "error", f"the function {name} failed: {why}", hint)
    return Finding("function", subject, "ok", f"{name} is {state.lower()}")


def mapping(subject: str, name: str, queue: str, found: Sequence[Mapping[str, Any]]) -> Finding:
    """Check what brings the messages of `queue`, an ARN, to the function of this name."""
    if not found:
        return Finding(
            "mapping",
            subject,
            "error",
            f"no event source mapping from {queue.rpartition(':')[2]} to {name}: its events wait",
            "create it again; what waits is then sent. With profile = throughput its batch size is "
            "10000 and its window 1 s; max_concurrency is its MaximumConcurrency",
            f"aws lambda create-event-source-mapping --function-name {name} --event-source-arn "
            f"{queue} --batch-size 10 --function-response-types {_REPORTS}",
        )
    working = [each for each in found if each.get("State") in _WORKS]
    if not working:
        state, uuid = found[0].get("State", "unknown"), found[0]["UUID"]
        return Finding(
            "mapping",
            subject,
            "error",
            f"the event source mapping of {name} is {str(state).lower()}: its events wait",
            "enable it; what waits is then sent",
            f"aws lambda update-event-source-mapping --uuid {uuid} --enabled",
        )
    for each in working:
        if _REPORTS not in each.get("FunctionResponseTypes", ()):
            return Finding(
                "mapping",
                subject,
                "error",
                f"the event source mapping of {name} does not report failed messages one by one: "
                "SQS deletes those that were not delivered",
                f"set {_REPORTS} at once",
                f"aws lambda update-event-source-mapping --uuid {each['UUID']} "
                f"--function-response-types {_REPORTS}",
            )
    return Finding("mapping", subject, "ok", str(working[0]["State"]).lower())


def role(subject: str, name: str, lacking: Sequence[Need]) -> Finding:
    """Check what a role lacks, as IAM evaluates it."""
    if not lacking:
        return Finding("role", subject, "ok", name)
    said = "; ".join(
        f"{', '.join(each.actions)} on {each.resource.rpartition(':')[2]}" for each in lacking
    )
    return Finding(
        "role",
        subject,
        "error",
        f"the role {name} may not do {said}",
        "the stack grants it: undo what was changed by hand (`aws cloudformation "
        "detect-stack-drift` finds it); a permissions boundary or a policy of the organization may "
        "deny it too",
    )


def secret(subject: str, name: str, found: Mapping[str, Any] | None) -> Finding:
    """Check a secret by its description, None if there is none of this name.

    Its value is not read here: the function does that.
    """
    if found is None:
        return Finding(
            "secret",
            subject,
            "error",
            f"the secret '{name}' does not exist",
            "create it from a file that holds its value; events then go at once",
            f"aws secretsmanager create-secret --name {name} --secret-string file://SECRET",
        )
    if found.get("DeletedDate"):
        return Finding(
            "secret",
            subject,
            "error",
            f"the secret '{name}' is deleted, and can be restored until its recovery window ends",
            "restore it",
            f"aws secretsmanager restore-secret --secret-id {name}",
        )
    return Finding("secret", subject, "ok", name)
