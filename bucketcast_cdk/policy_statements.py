"""Statements for many resources, in parts that fit into one policy each.

CDK moves statements that a role's inline policy has no room for to managed policies, whole ones: a
statement must not be longer than a managed policy may be.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from aws_cdk import aws_iam as iam

_AT_ONCE: Final = 18
"""ARNs in a statement. CDK takes each for 150 characters: so it puts two statements in a policy."""


def allow(
    actions: Sequence[str], resources: Sequence[str], conditions: Mapping[str, Any] | None = None
) -> Iterator[iam.PolicyStatement]:
    """Yield the statements that allow the actions on the resources."""
    for start in range(0, len(resources), _AT_ONCE):
        yield iam.PolicyStatement(
            actions=list(actions),
            resources=list(resources[start : start + _AT_ONCE]),
            conditions=conditions,
        )
