"""What the policy of our queue, or of a customer's key, lets a service of AWS do."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

_NEEDED: Final = {"Effect", "Principal", "Action", "Resource"}
_WITHOUT_TLS: Final = {"Bool": {"aws:SecureTransport": "false"}}
"""The condition of the template's own denial, which no call of a service meets."""


class Caller(NamedTuple):
    """A service of AWS, the ARN of its sources as in the template, and its account; "" for none."""

    service: str
    sources: str
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


def _is_about(statement: Mapping[str, Any], service: str, action: str) -> bool:
    """Return True if a statement may be about an action of a service."""
    principal = statement.get("Principal", "*")
    kinds = principal.values() if isinstance(principal, dict) else [principal]
    return any(name in ("*", service) for names in kinds for name in _list(names)) and any(
        fnmatchcase(action.lower(), each.lower()) for each in _list(statement.get("Action", "*"))
    )


def _is_met(statement: Mapping[str, Any], caller: Caller, resource: str) -> bool:
    """Return True if a statement about a service's action surely applies to its call."""
    known = {("StringEquals", "aws:sourceaccount"): caller.account}
    known["ArnLike", "aws:sourcearn"] = caller.sources
    return (
        statement.keys() - {"Sid", "Condition"} == _NEEDED
        and not {"*", resource}.isdisjoint(_list(statement["Resource"]))
        and all(
            known.get((operator, key.lower())) in _list(wanted)
            for operator, tests in statement.get("Condition", {}).items()
            for key, wanted in tests.items()
        )
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
