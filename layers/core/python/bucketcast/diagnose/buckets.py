"""Check that the buckets' events reach the ingress queue."""

from collections.abc import Mapping
from typing import NamedTuple

from bucketcast.finding import Finding, not_checked

CHECK = "bucket"


class Connection(NamedTuple):
    """The connection of a bucket.

    `via` is its transport, "" without one; `deployed` is that of the configuration, "" if no deploy
    owns the bucket. `problem` is the error if it cannot be read. `missing` means that the bucket
    does not exist, `has_rules` that rules name it, `twice` that each event arrives twice.
    """

    bucket: str
    via: str
    deployed: str = ""
    problem: str = ""
    missing: bool = False
    has_rules: bool = False
    twice: bool = False


def check_bucket(connection: Connection, event_rules: Mapping[str, str]) -> Finding | None:
    """Check one bucket; return None if it has nothing to do with this deployment.

    `event_rules` are EventBridge's rules that write to the ingress queue: their states by bucket.
    """
    name = connection.bucket
    if connection.missing:
        return _missing(connection)
    if not connection.via:
        return _unconnected(connection)
    if connection.via in ("eventbridge", "both") and event_rules.get(name) != "ENABLED":
        return _without_rule(connection, event_rules.get(name, ""))
    if connection.twice:
        hint = f"detach one transport, or set via in [bucket.{name}] to the one that stays"
        command = f"bucketcast bucket ls {name}"
        return Finding(CHECK, name, "warn", "its events arrive twice", hint, command)
    return Finding(CHECK, name, "ok", f"connected via {connection.via}")


def _missing(connection: Connection) -> Finding:
    name = connection.bucket
    return Finding(
        CHECK,
        name,
        "error",
        "the bucket does not exist",
        f"create it and attach it, or remove [bucket.{name}] from bucketcast.toml and deploy",
        f"aws s3 mb s3://{name} && {_attach(connection)}",
    )


def _unconnected(connection: Connection) -> Finding | None:
    name = connection.bucket
    if connection.problem and "attach again" not in connection.problem:
        return not_checked(CHECK, name, connection.problem)
    if connection.deployed or connection.problem:
        return _disconnected(connection)
    if not connection.has_rules:
        return None
    problem = "rules name it, but its events do not arrive here"
    hint = "attach it, or remove its rules; nothing is wrong if its events come through SNS"
    return Finding(CHECK, name, "warn", problem, hint, _attach(connection))


def _disconnected(connection: Connection) -> Finding:
    problem = "its notifications have no entry to the ingress queue"
    if connection.deployed == "eventbridge":
        problem = "S3 does not send its events to EventBridge"
    return Finding(
        CHECK,
        connection.bucket,
        "error",
        f"{problem}: no event arrives",
        "attach it; the other entries stay. For earlier changes, run `bucketcast reconcile` or "
        "`bucketcast backfill`",
        _attach(connection),
    )


def _without_rule(connection: Connection, state: str) -> Finding:
    if state:
        problem = f"its EventBridge rule is {state.lower()}: no event arrives"
        return Finding(
            CHECK,
            connection.bucket,
            "error",
            problem,
            "enable the rule: `aws events "
            "list-rule-names-by-target` names it, `aws events enable-rule` enables it",
        )
    problem = "no EventBridge rule takes its events to the ingress queue"
    if connection.deployed:
        return Finding(CHECK, connection.bucket, "error", problem, 'deploy it with via = "both"')
    return Finding(
        CHECK, connection.bucket, "error", problem, "attach it again", _attach(connection)
    )


def _attach(connection: Connection) -> str:
    via = connection.deployed or connection.via
    via = "eventbridge" if via == "eventbridge" else "sqs"
    return f"bucketcast bucket attach {connection.bucket} --via {via}"
