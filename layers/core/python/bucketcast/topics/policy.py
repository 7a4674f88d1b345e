"""A topic's policy: who else may do what with it, in the words of IAM.

What is read: `Statement` with `Effect`, `Action` or `NotAction`, `Principal` or `NotPrincipal`,
`Resource` or `NotResource`. `*` and `?` are wildcards in actions, resources and ARNs of users. A
statement that asks for more (`Condition`) is refused when the policy is given, as nothing here
could tell whether it holds.

A user is `arn:aws:iam::TENANT:user/NAME`, as in RGW's bucket policies; `*` is everyone, and
`arn:aws:iam::TENANT:root` or the tenant alone is everyone of that tenant.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import msgspec

from bucketcast.topics.errors import TopicError

CREATE: Final = "sns:CreateTopic"
DELETE: Final = "sns:DeleteTopic"
GET: Final = "sns:GetTopicAttributes"
PUBLISH: Final = "sns:Publish"
SET: Final = "sns:SetTopicAttributes"
ACTIONS: Final = (CREATE, DELETE, GET, PUBLISH, SET)
_VERSIONS: Final = ("2008-10-17", "2012-10-17")
_FIELDS: Final = 6
_MOST_BYTES: Final = 30_720
"""SNS's limit. Every call to a topic reads its policy."""
_PAIRS: Final = ("Action", "Principal", "Resource")
_KEYS: Final = frozenset({"Effect", "Sid", *_PAIRS, *(f"Not{each}" for each in _PAIRS)})
Verdict = Literal["Allow", "Deny", ""]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `negated` are those of its parts that it gives as `NotAction` and so on."""

    effect: Verdict
    actions: tuple[str, ...]
    principals: tuple[str, ...]
    resources: tuple[str, ...]
    negated: frozenset[str]

    def is_about(self, tenant: str, user: str, action: str, resource: str) -> bool:
        """Return whether it applies to this user, action and topic."""
        names = (f"arn:aws:iam::{tenant}:user/{user}", f"arn:aws:iam::{tenant}:root", tenant or "")
        found = {
            "Action": any(_like(each.lower(), action.lower()) for each in self.actions),
            "Principal": any(_is_user(each, names) for each in self.principals),
            "Resource": any(_names(each, resource) for each in self.resources),
        }
        return all(met != (part in self.negated) for part, met in found.items())


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy."""

    statements: tuple[Statement, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a policy.

        Raises:
            TopicError: it is invalid, or uses what is not supported.
        """
        if (size := len(text.encode())) > _MOST_BYTES:
            raise _malformed(f"it has {size:,} bytes: allowed are {_MOST_BYTES:,}")
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _malformed(f"no JSON: {error}") from None
        if not isinstance(document, dict):
            raise _malformed("it is no JSON object")
        version = document.get("Version", _VERSIONS[0])
        if version not in _VERSIONS:
            raise _malformed(f"Version: allowed is {' or '.join(_VERSIONS)}")
        given = document.get("Statement")
        listed = given if isinstance(given, list) else [given]
        return cls(tuple(_statement(each) for each in listed))

    def verdict(self, tenant: str, user: str, action: str, resource: str) -> Verdict:
        """Return its verdict on this user, action and topic; "" if no statement applies."""
        said = {
            each.effect for each in self.statements if each.is_about(tenant, user, action, resource)
        }
        return "Deny" if "Deny" in said else "Allow" if said else ""


def _statement(given: Any) -> Statement:
    if not isinstance(given, dict):
        raise _malformed("Statement is no object, nor a list of objects")
    if unknown := given.keys() - _KEYS:
        raise _malformed(f"a statement has {', '.join(sorted(unknown))}, which is not read here")
    effect = given.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise _malformed("Effect: allowed is Allow or Deny")
    parts, negated = {}, set()
    for part in _PAIRS:
        names = [name for name in (part, f"Not{part}") if name in given]
        if len(names) != 1:
            raise _malformed(f"a statement needs {part} or Not{part}")
        negated |= {part} if names[0] != part else set()
        value = given[names[0]]
        parts[part] = _principals(value) if part == "Principal" else _texts(part, value)
    for action in parts["Action"]:
        if action != "*" and not action.lower().startswith("sns:"):
            raise _malformed(f"Action {action!r}: allowed are {', '.join(ACTIONS)} and wildcards")
    return Statement(
        effect, parts["Action"], parts["Principal"], parts["Resource"], frozenset(negated)
    )


def _principals(value: Any) -> tuple[str, ...]:
    if value == "*":
        return ("*",)
    if not isinstance(value, Mapping) or set(value) != {"AWS"}:
        raise _malformed('Principal: allowed is "*" or {"AWS": …}')
    return _texts("Principal", value["AWS"])


def _texts(part: str, value: Any) -> tuple[str, ...]:
    listed: Sequence[Any] = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(each, str) and each for each in listed):
        raise _malformed(f"{part}: allowed is a text or a list of texts")
    return tuple(listed)


def _is_user(given: str, names: Sequence[str]) -> bool:
    user, root, tenant = names
    return given == "*" or _like(given, user) or given == root or (bool(tenant) and given == tenant)


def _names(given: str, arn: str) -> bool:
    """Return whether a pattern matches a topic, ignoring the region."""
    parts = given.split(":", _FIELDS - 1)
    if len(parts) == _FIELDS:
        parts[3] = arn.split(":", _FIELDS - 1)[3]
    return _like(":".join(parts), arn)


def _like(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern whose only wildcards are `*` and `?`."""
    return re.fullmatch(fnmatch.translate(pattern.replace("[", "[[]")), text) is not None


def _malformed(why: str) -> TopicError:
    return TopicError("MalformedPolicyDocument", f"Policy: {why}")
