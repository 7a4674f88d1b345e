"""Check that the buckets' events reach the ingress queue."""

from bucketcast.finding import Finding, not_checked
from bucketcast.notifications.aws.attachments import AttachmentStatus

CHECK = "bucket"


def missing_bucket(bucket: str, deployed: str) -> Finding:
    """Return the finding for a bucket of the configuration that does not exist."""
    return Finding(
        CHECK,
        bucket,
        "error",
        "the bucket does not exist",
        f"create it and attach it, or remove [bucket.{bucket}] from bucketcast.toml and deploy",
        f"aws s3 mb s3://{bucket} && {_attach(bucket, deployed)}",
    )


def check_bucket(
    status: AttachmentStatus, deployed: str, rule_state: str, *, has_rules: bool
) -> Finding | None:
    """Check one bucket; return None if it has nothing to do with this deployment.

    `deployed` is its transport in the configuration, "" if no deploy owns it. `rule_state` is that
    of EventBridge's rule that writes to the ingress queue, "" without one. `has_rules` means that
    rules name it.
    """
    bucket = status.bucket
    if not status.via:
        return _check_unconnected(status, deployed, has_rules=has_rules)
    if status.via != "sqs" and rule_state != "ENABLED":
        return _without_rule(status, deployed, rule_state)
    if status.twice:
        hint = f"detach one transport, or set via in [bucket.{bucket}] to the one that stays"
        command = f"bucketcast bucket ls {bucket}"
        return Finding(CHECK, bucket, "warn", "its events arrive twice", hint, command)
    return Finding(CHECK, bucket, "ok", f"connected via {status.via}")


def _check_unconnected(
    status: AttachmentStatus, deployed: str, *, has_rules: bool
) -> Finding | None:
    bucket, command = status.bucket, _attach(status.bucket, deployed)
    if status.problem and "attach again" not in status.problem:
        return not_checked(CHECK, bucket, status.problem)
    if deployed or status.problem:
        problem = "its notifications have no entry to the ingress queue"
        if deployed == "eventbridge":
            problem = "S3 does not send its events to EventBridge"
        hint = (
            "attach it; the other entries stay. For earlier changes, run `bucketcast reconcile` "
            "or `bucketcast backfill`"
        )
        return Finding(CHECK, bucket, "error", f"{problem}: no event arrives", hint, command)
    if not has_rules:
        return None
    problem = "rules name it, but its events do not arrive here"
    hint = "attach it, or remove its rules; nothing is wrong if its events come through SNS"
    return Finding(CHECK, bucket, "warn", problem, hint, command)


def _without_rule(status: AttachmentStatus, deployed: str, rule_state: str) -> Finding:
    problem, command = "no EventBridge rule takes its events to the ingress queue", ""
    if rule_state:
        problem = f"its EventBridge rule is {rule_state.lower()}: no event arrives"
        hint = (
            "enable the rule: `aws events list-rule-names-by-target` names it, "
            "`aws events enable-rule` enables it"
        )
    elif deployed:
        hint = 'deploy it with via = "both"'
    else:
        hint, command = "attach it again", _attach(status.bucket, status.via)
    return Finding(CHECK, status.bucket, "error", problem, hint, command)


def _attach(bucket: str, via: str) -> str:
    via = "eventbridge" if via == "eventbridge" else "sqs"
    return f"bucketcast bucket attach {bucket} --via {via}"
