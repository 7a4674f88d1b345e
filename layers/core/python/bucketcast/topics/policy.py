"""A topic's policy: the rights of other users, in IAM's language.

Supported are `Statement` with `Effect`, `Action` or `NotAction`, `Principal` or `NotPrincipal`,
`Resource` or `NotResource`. `*` and `?` are wildcards in actions, resources and ARNs of users. A
policy with other elements (`Condition`) is refused.

A user is `arn:aws:iam::TENANT:user/NAME`, as in RGW's bucket policies; `*` is everyone, and
`arn:aws:iam::TENANT:root` or the tenant alone is everyone of that tenant.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import msgspec

from bucketcast.limits import MOST_POLICY_BYTES, MOST_POLICY_WILDCARDS
from bucketcast.topics.errors import TopicError

CREATE: Final = "sns:CreateTopic"
DELETE: Final = "sns:DeleteTopic"
GET: Final = "sns:GetTopicAttributes"
PUBLISH: Final = "sns:Publish"
SET: Final = "sns:SetTopicAttributes"
ACTIONS: Final = (CREATE, DELETE, GET, PUBLISH, SET)
_VERSIONS: Final = ("2008-10-17", "2012-10-17")
_FIELDS: Final = 6
_PAIRS: Final = ("Action", "Principal", "Resource")
_KEYS: Final = frozenset({"Effect", "Sid", *_PAIRS, *(f"Not{each}" for each in _PAIRS)})
Verdict = Literal["Allow", "Deny", ""]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `negated` are its parts written as `NotAction` and so on."""

    effect: Verdict
    actions: tuple[str, ...]
    principals: tuple[str, ...]
    resources: tuple[str, ...]
    negated: frozenset[str]

    def applies(self, tenant: str, user: str, action: str, resource: str) -> bool:
        """Return True if the statement applies to this user, action and topic."""
        names = (f"arn:aws:iam::{tenant}:user/{user}", f"arn:aws:iam::{tenant}:root", tenant or "")
        matches = {
            "Action": any(_matches(pattern.lower(), action.lower()) for pattern in self.actions),
            "Principal": any(_matches_user(pattern, names) for pattern in self.principals),
            "Resource": any(_matches_topic(pattern, resource) for pattern in self.resources),
        }
        return all(matched != (part in self.negated) for part, matched in matches.items())


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy."""

    statements: tuple[Statement, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a policy.

        Raises:
            TopicError: the policy is invalid, or has elements that are not supported.
        """
        if (size := len(text.encode())) > MOST_POLICY_BYTES:
            raise _malformed(f"it has {size:,} bytes: allowed are {MOST_POLICY_BYTES:,}")
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _malformed(f"no JSON: {error}") from None
        if not isinstance(document, dict):
            raise _malformed("it is not a JSON object")
        version = document.get("Version", _VERSIONS[0])
        if version not in _VERSIONS:
            raise _malformed(f"Version: allowed is {' or '.join(_VERSIONS)}")
        statements = document.get("Statement")
        statements = statements if isinstance(statements, list) else [statements]
        parsed = tuple(_parse_statement(statement) for statement in statements)
        every = [(*one.actions, *one.principals, *one.resources) for one in parsed]
        patterns = "".join(map("".join, every))
        if (wild := patterns.count("*") + patterns.count("?")) > MOST_POLICY_WILDCARDS:
            raise _malformed(f"it has {wild:,} wildcards: allowed are {MOST_POLICY_WILDCARDS}")
        return cls(parsed)

    def evaluate(self, tenant: str, user: str, action: str, resource: str) -> Verdict:
        """Return the effect for this user, action and topic; "" if no statement applies."""
        effects = {
            statement.effect
            for statement in self.statements
            if statement.applies(tenant, user, action, resource)
        }
        return "Deny" if "Deny" in effects else "Allow" if effects else ""


def _parse_statement(document: Any) -> Statement:
    if not isinstance(document, dict):
        raise _malformed("Statement is not an object, nor a list of objects")
    if unknown := document.keys() - _KEYS:
        raise _malformed(f"a statement has {', '.join(sorted(unknown))}, which is not read here")
    effect = document.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise _malformed("Effect: allowed is Allow or Deny")
    parts, negated = {}, set()
    for part in _PAIRS:
        names = [name for name in (part, f"Not{part}") if name in document]
        if len(names) != 1:
            raise _malformed(f"a statement needs {part} or Not{part}")
        negated |= {part} if names[0] != part else set()
        value = document[names[0]]
        parts[part] = _parse_principals(value) if part == "Principal" else _parse_texts(part, value)
    for action in parts["Action"]:
        if action != "*" and not action.lower().startswith("sns:"):
            raise _malformed(f"Action {action!r}: allowed are {', '.join(ACTIONS)} and wildcards")
    return Statement(
        effect, parts["Action"], parts["Principal"], parts["Resource"], frozenset(negated)
    )


def _parse_principals(value: Any) -> tuple[str, ...]:
    if value == "*":
        return ("*",)
    if not isinstance(value, Mapping) or set(value) != {"AWS"}:
        raise _malformed('Principal: allowed is "*" or {"AWS": …}')
    return _parse_texts("Principal", value["AWS"])


def _parse_texts(part: str, value: Any) -> tuple[str, ...]:
    texts: Sequence[Any] = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise _malformed(f"{part}: allowed is a text or a list of texts")
    return tuple(texts)


def _matches_user(pattern: str, names: Sequence[str]) -> bool:
    user, root, tenant = names
    return (
        pattern == "*"
        or _matches(pattern, user)
        or pattern == root
        or (bool(tenant) and pattern == tenant)
    )


def _matches_topic(pattern: str, arn: str) -> bool:
    """Return True if a pattern matches a topic, ignoring the region."""
    parts = pattern.split(":", _FIELDS - 1)
    if len(parts) == _FIELDS:
        parts[3] = arn.split(":", _FIELDS - 1)[3]
    return _matches(":".join(parts), arn)


def _matches(pattern: str, text: str) -> bool:
    """Return True if a text matches a pattern with the wildcards `*` and `?`."""
    if "*" not in pattern and "?" not in pattern:
        return pattern == text
    return re.fullmatch(fnmatch.translate(pattern.replace("[", "[[]")), text) is not None


def _malformed(why: str) -> TopicError:
    return TopicError("MalformedPolicyDocument", f"Policy: {why}")
