"""Rights of the functions' roles, as IAM evaluates them."""

from collections.abc import Sequence
from typing import NamedTuple

from bucketcast.doctor import Finding

CHECK = "role"


class Need(NamedTuple):
    """Actions that a function needs on one resource."""

    actions: tuple[str, ...]
    resource: str


READ_QUEUE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")
WRITE_QUEUE = ("sqs:SendMessage",)
READ_SECRET = ("secretsmanager:GetSecretValue",)
READ_RULES = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")


def role(subject: str, name: str, lacking: Sequence[Need]) -> Finding:
    """Check what a role lacks."""
    if not lacking:
        return Finding(CHECK, subject, "ok", name)
    said = "; ".join(
        f"{', '.join(each.actions)} on {each.resource.rpartition(':')[2]}" for each in lacking
    )
    return Finding(
        CHECK,
        subject,
        "error",
        f"the role {name} may not do {said}",
        "the stack grants it: undo what was changed by hand (`aws cloudformation "
        "detect-stack-drift` finds it); a permissions boundary or a policy of the organization may "
        "deny it too",
    )
