"""Check the queues: their messages, their dead letters, their policies."""

from bucketcast.finding import BY_HAND, Finding
from bucketcast.notifications.policy import Caller, allows

POLICY = "queue-policy"
KEY_POLICY = "key-policy"
_EARLIER = (
    "events from before are found by `bucketcast reconcile`, or sent by `bucketcast backfill`"
)
_KEY_ACTIONS = ("kms:GenerateDataKey", "kms:Decrypt")


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


def check_policy(queue: str, policy: str, caller: Caller) -> Finding:
    """Check that the policy of the ingress queue lets a service write."""
    name, service = queue.rpartition(":")[2], caller.service
    allowed = allows(policy, caller, "sqs:SendMessage", queue)
    if allowed:
        return Finding(POLICY, "ingress", "ok", f"{service} may write to {name}")
    if allowed is None:
        return _unclear(POLICY, f"the policy of {name}", service)
    found = f"the policy of {name} does not let {service} write: no event arrives"
    hint = f"add a statement that allows sqs:SendMessage to {service}, as the template has it"
    return Finding(POLICY, "ingress", "error", found, f"{hint}; {_EARLIER}")


def check_key_policy(key: str, policy: str, caller: Caller) -> Finding:
    """Check that the policy of a customer's key lets a service encrypt what it writes."""
    name, service = key.rpartition("/")[2], caller.service
    allowed = {allows(policy, caller, action, key) for action in _KEY_ACTIONS}
    if allowed == {True}:
        return Finding(KEY_POLICY, "ingress", "ok", f"{service} may use the key {name}")
    if False not in allowed:
        return _unclear(KEY_POLICY, f"the policy of the key {name}", service)
    found = f"the policy of the key {name} does not let {service} use it: what it sends is lost"
    hint = f"add kms:Decrypt and kms:GenerateDataKey for {service}: see docs/operations.md, Secrets"
    return Finding(KEY_POLICY, "ingress", "error", found, f"{hint}; {_EARLIER}")


def _unclear(check: str, policy: str, service: str) -> Finding:
    found = f"not checked: {policy} is not as the template or docs/operations.md has it"
    hint = f"compare its statements: they may not let {service} in"
    return Finding(check, "ingress", "warn", found, hint)
