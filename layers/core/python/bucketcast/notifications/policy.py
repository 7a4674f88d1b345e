"""What the policy of our queue, or of a customer's key, lets a service of AWS do."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from bucketcast.errors import BucketcastError

_NEEDED: Final = {"Effect", "Principal", "Action", "Resource"}
_WITHOUT_TLS: Final = {"Bool": {"aws:SecureTransport": "false"}}
"""The condition of the template's own denial, which no call of a service meets."""


class Caller(NamedTuple):
    """A service of AWS, and the ARN and account that its calls name; no account is ""."""

    service: str
    source: str
    account: str = ""


def allows(policy: str, caller: Caller, action: str, resource: str) -> bool | None:
    """Return whether a policy lets a service act on its queue or key; None if that is unclear.

    Clear are statements in the form of the template's; any other may decide either way.
    """
    allowed: bool | None = False
    for statement in _list(json.loads(policy or "{}").get("Statement", [])):
        if statement["Effect"] == "Deny":
            if statement.get("Condition") != _WITHOUT_TLS:
                return None
        elif _is_about(statement, caller.service, action):
            allowed = allowed or _is_met(statement, caller, resource) or None
    return allowed


def require_allowed(queue: str, policy: str, caller: Caller, *, validated: bool = False) -> None:
    """Check the policy of our queue, since S3 and EventBridge silently drop what it refuses.

    Raises:
        BucketcastError: it does not allow the service to write, or this is unclear and S3 has not
            `validated` it.
    """
    allowed = allows(policy, caller, "sqs:SendMessage", queue)
    if not (allowed or (validated and allowed is None)):
        raise BucketcastError(
            f"the policy of {queue} {'may' if allowed is None else 'does'} not let "
            f"{caller.service} write for {caller.source}: write it again, as the stack's template "
            "has it"
        )


def _is_about(statement: Mapping[str, Any], service: str, action: str) -> bool:
    """Return True if a statement may be about an action of a service."""
    principal = statement.get("Principal", "*")
    kinds = principal.values() if isinstance(principal, dict) else [principal]
    return any(name in ("*", service) for names in kinds for name in _list(names)) and any(
        fnmatchcase(action.lower(), each.lower()) for each in _list(statement.get("Action", "*"))
    )


def _is_met(statement: Mapping[str, Any], caller: Caller, resource: str) -> bool:
    """Return True if a statement about a service's action surely applies to its call."""
    return (
        statement.keys() - {"Sid", "Condition"} == _NEEDED
        and not {"*", resource}.isdisjoint(_list(statement["Resource"]))
        and all(
            _holds(operator, key.lower(), _list(wanted), caller)
            for operator, tests in statement.get("Condition", {}).items()
            for key, wanted in tests.items()
        )
    )


def _holds(operator: str, key: str, wanted: list[str], caller: Caller) -> bool:
    match operator, key:
        case "StringEquals", "aws:sourceaccount":
            return caller.account in wanted
        case "ArnLike", "aws:sourcearn":
            return any(_is_like(caller.source, each) for each in wanted)
    return False


def _is_like(arn: str, pattern: str) -> bool:
    """Return True if a pattern of ARNs, in which `[` is a letter, surely matches, part by part."""
    parts, patterns = arn.split(":", 5), pattern.split(":", 5)
    return (
        "[" not in pattern
        and len(parts) == len(patterns)
        and all(map(fnmatchcase, parts, patterns))
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
