"""The right to read secrets that the configuration refers to, and no others."""

from collections.abc import Iterable, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from bucketcast_cdk import policy_statements
from bucketcast_cdk.encryption import SECRETS, let_decrypt


def let_read(role: iam.Role, names: Iterable[str], keys: Sequence[str]) -> None:
    """Let a role read the secrets with these names or ARNs, which may be under any of the keys."""
    arns = [_arn(Stack.of(role), name) for name in sorted(names)]
    for statement in policy_statements.allow(["secretsmanager:GetSecretValue"], arns):
        role.add_to_policy(statement)
    if arns:
        let_decrypt(role, keys, SECRETS)


def _arn(stack: Stack, name: str) -> str:
    if name.startswith("arn:"):
        return name
    where = f"arn:{stack.partition}:secretsmanager:{stack.region}:{stack.account}"
    # Secrets Manager appends a hyphen and six characters of its own to a secret's name.
    return f"{where}:secret:{name}-??????"
