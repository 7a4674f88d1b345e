"""Buckets: whether their events reach the ingress queue."""

from collections.abc import Mapping
from typing import NamedTuple

from bucketcast.finding import Finding, not_checked

CHECK = "bucket"


class Connection(NamedTuple):
    """How a bucket is connected.

    `via` is "" if it is not, `deployed` the transport of the configuration, "" if a deploy does not
    own the bucket. `why` is what could not be read, `missing` whether the bucket does not exist.
    `rules` is whether rules name it. `both` is a warning about a second transport.
    """

    bucket: str
    via: str
    deployed: str = ""
    why: str = ""
    missing: bool = False
    rules: bool = False
    both: str = ""


def bucket(seen: Connection, event_rules: Mapping[str, str]) -> Finding | None:
    """Check one bucket; None for one that has nothing to do with this deployment.

    `event_rules` are EventBridge's rules that write to the ingress queue: their states by bucket.
    """
    name = seen.bucket
    if seen.missing:
        return _missing(seen)
    if not seen.via:
        return _unconnected(seen)
    if seen.via == "eventbridge" and event_rules.get(name) != "ENABLED":
        return _without_rule(seen, event_rules.get(name, ""))
    if seen.both:
        return Finding(CHECK, name, "warn", seen.both, "remove the older transport", _attach(seen))
    return Finding(CHECK, name, "ok", f"connected via {seen.via}")


def _missing(seen: Connection) -> Finding:
    name = seen.bucket
    return Finding(
        CHECK,
        name,
        "error",
        "the bucket does not exist",
        f"create it and attach it, or remove [bucket.{name}] from bucketcast.toml and deploy",
        f"aws s3 mb s3://{name} && {_attach(seen)}",
    )


def _unconnected(seen: Connection) -> Finding | None:
    name = seen.bucket
    if seen.why and "attach again" not in seen.why:
        return not_checked(CHECK, name, seen.why)
    if seen.deployed or seen.why:
        return _disconnected(seen)
    if not seen.rules:
        return None
    found = "rules name it, but its events do not come here"
    hint = "attach it, or remove its rules; nothing is wrong if its events come through SNS"
    return Finding(CHECK, name, "warn", found, hint, _attach(seen))


def _disconnected(seen: Connection) -> Finding:
    found = "its notifications have no entry to the ingress queue"
    if seen.deployed == "eventbridge":
        found = "S3 does not send its events to EventBridge"
    return Finding(
        CHECK,
        seen.bucket,
        "error",
        f"{found}: no event arrives",
        "attach it; the other entries stay. Events from before are found by `bucketcast "
        "reconcile`, or sent by `bucketcast backfill`",
        _attach(seen),
    )


def _without_rule(seen: Connection, state: str) -> Finding:
    if state:
        found = f"its EventBridge rule is {state.lower()}: no event arrives"
        return Finding(
            CHECK,
            seen.bucket,
            "error",
            found,
            "enable the rule: `aws events "
            "list-rule-names-by-target` names it, `aws events enable-rule` enables it",
        )
    found = "no EventBridge rule takes its events to the ingress queue"
    hint = "attach it by SQS instead" if seen.deployed else "attach it again"
    return Finding(CHECK, seen.bucket, "error", found, hint, _attach(seen))


def _attach(seen: Connection) -> str:
    via = seen.deployed or seen.via or "sqs"
    return f"bucketcast bucket attach {seen.bucket} --via {via}"
