"""Check the queues: their messages, their dead letters, their policies."""

from bucketcast.finding import BY_HAND, Finding, Status
from bucketcast.notifications.policy import Caller, allows

POLICY = "queue-policy"
KEY_POLICY = "key-policy"
_EARLIER = (
    "events from before are found by `bucketcast reconcile`, or sent by `bucketcast backfill`"
)
_NEEDED = {
    POLICY: (["sqs:SendMessage"], "the template"),
    KEY_POLICY: (["kms:GenerateDataKey", "kms:Decrypt"], "docs/operations.md, Secrets,"),
}
"""The actions that each policy must allow, and where its statements are."""


def check_queue(subject: str, name: str, waiting: int, dead: int) -> Finding:
    """Check the queue of this name, by the messages in it and in its dead-letter queue."""
    if dead:
        return Finding(
            "queue",
            subject,
            "warn",
            f"{name} has dead letters: {dead:,}",
            "see why, repair the cause, and send them again with `bucketcast dlq redrive`",
            "bucketcast dlq ls",
        )
    return Finding("queue", subject, "ok", f"{name}: {waiting:,} messages wait")


def check_kept(name: str, waiting: int, dead: int) -> Finding:
    """Check the queue of this name, which outlived its target."""
    if not waiting and not dead:
        return Finding("queue", name, "ok", "kept of a removed target, and empty")
    return Finding(
        "queue",
        name,
        "warn",
        f"its target was removed: {waiting:,} messages wait, and {dead:,} are dead letters",
        "to deliver them, put the target back, give its queues to `cdk import`, and deploy; SQS "
        "drops them 14 days after they were sent",
    )


def missing_queue(subject: str, name: str) -> Finding:
    """Return the finding for a queue that does not exist."""
    return Finding("queue", subject, "error", f"the queue {name} does not exist", BY_HAND)


def check_policy(check: str, resource: str, policy: str, caller: Caller) -> Finding:
    """Check that the policy of the ingress queue, or of a customer's key, lets a service in."""
    actions, origin = _NEEDED[check]
    name, service = resource.rpartition(":")[2], caller.service
    allowed = {allows(policy, caller, action, resource) for action in actions}
    if allowed == {True}:
        return Finding(check, "ingress", "ok", f"the policy of {name} lets {service} in")
    status: Status = "error" if False in allowed else "warn"
    found = f"the policy of {name} {'may' if status == 'warn' else 'does'} not let {service} in"
    hint = f"allow {' and '.join(actions)} to {service}, as {origin} has it, and deny nothing"
    return Finding(check, "ingress", status, found, f"{hint}; {_EARLIER}")
