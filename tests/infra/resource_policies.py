"""What a resource's own policy, or a role's trust, lets a service or account do.

As IAM judges it: a denial that matches wins, and without an allowance nothing is allowed. An
operator or key of a condition that is not known here is an error, so that none counts as met.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_WILD = {"*": ".*", "?": "."}


@dataclass(frozen=True, slots=True)
class Request:
    """A call by a principal: a service's name, or an account's number."""

    principal: str
    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)


def allows(statements: Iterable[Mapping[str, Any]], request: Request) -> bool:
    """Return whether one of the statements allows it, and none denies it."""
    effects = {each["Effect"] for each in statements if _matches(each, request)}
    return effects == {"Allow"}


def _matches(statement: Mapping[str, Any], request: Request) -> bool:
    resources = listed(statement.get("Resource", "*"))  # a trust policy is of its role alone
    return (
        _is_principal(statement["Principal"], request.principal)
        and any(like(request.action.lower(), each.lower()) for each in listed(statement["Action"]))
        and any(like(request.resource, each) for each in resources)
        and all(
            _holds(operator, key, listed(wanted), request.context)
            for operator, pairs in statement.get("Condition", {}).items()
            for key, wanted in pairs.items()
        )
    )


def _is_principal(allowed: Any, principal: str) -> bool:
    if allowed == "*":
        return True
    ((kind, names),) = allowed.items()
    if kind == "Service":
        return principal in listed(names)
    return any(each in ("*", principal) or f"::{principal}:root" in each for each in listed(names))


def _holds(operator: str, key: str, wanted: list[str], context: Mapping[str, str]) -> bool:
    if key not in context:
        return False
    found = context[key]
    match operator:
        case "StringEquals" | "Bool" | "ArnEquals":
            return found in wanted
        case "StringLike":
            return any(like(found, each) for each in wanted)
        case "ArnLike":
            return any(_is_arnlike(found.split(":", 5), each.split(":", 5)) for each in wanted)
    raise ValueError(f"a condition of {operator} is not known here")


def _is_arnlike(found: list[str], wanted: list[str]) -> bool:
    """Compare part by part: a `*` does not reach beyond a colon."""
    return len(found) == len(wanted) and all(map(like, found, wanted))


def like(text: str, pattern: str) -> bool:
    """Return whether IAM's pattern matches: with two wild cards, and `[` as any letter."""
    parts = re.split(r"([*?])", pattern)
    return bool(re.fullmatch("".join(_WILD.get(p) or re.escape(p) for p in parts), text, re.DOTALL))


def listed(value: Any) -> list[Any]:
    """Return what a policy names as a list: it may name one by itself."""
    return value if isinstance(value, list) else [value]
