"""Permissions of roles, on resources by their ARNs.

CDK moves statements for which a role's inline policy has no room to managed policies, undivided: a
statement must not be longer than a managed policy may be.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from bucketcast import targets
from bucketcast.config.target import TargetConfig
from bucketcast.settings.options import read
from bucketcast.state import breakers, counters
from bucketcast.targets.base.iam import IamLogin

SECRETS: Final = "secretsmanager"
OBJECTS: Final = "s3"
_BATCH: Final = 18
"""ARNs in a statement. CDK counts each as 150 characters, so two statements fit in a policy."""

RULES: Final = {"ForAllValues:StringNotLike": {"dynamodb:LeadingKeys": ["#*"]}}
"""The condition that limits a permission on the state table to rules: other partitions have a #."""


def allow(
    role: iam.IRole,
    actions: Iterable[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
) -> None:
    """Allow a role the actions on the resources, by statements that fit into one policy each."""
    for start in range(0, len(resources), _BATCH):
        batch = list(resources[start : start + _BATCH])
        role.add_to_principal_policy(
            iam.PolicyStatement(actions=list(actions), resources=batch, conditions=conditions)
        )


def leading_keys(*partitions: str) -> Mapping[str, Any]:
    """Return the condition that limits a permission on a table to some of its partitions."""
    return {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": list(partitions)}}


def allow_counting(role: iam.IRole, table: dynamodb.ITable) -> None:
    """Allow to count events, in the state table."""
    allow(role, ["dynamodb:UpdateItem"], [table.table_arn], leading_keys(counters.PARTITION))


def allow_dispatch_state(role: iam.IRole, table: dynamodb.ITable) -> None:
    """Allow to count events and to use breakers, which are stored in the state table."""
    allow_counting(role, table)
    use = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
    allow(role, use, [table.table_arn], leading_keys(breakers.PARTITION))


def allow_secrets(role: iam.IRole, names: Collection[str], keys: Sequence[str]) -> None:
    """Allow to read the secrets with these names or ARNs, which may be under any of the keys."""
    arns = [_secret_arn(role, name) for name in sorted(names)]
    allow(role, ["secretsmanager:GetSecretValue"], arns)
    if names:
        allow_decryption(role, keys, SECRETS)


def allow_decryption(role: iam.IRole, keys: Sequence[str], service: str) -> None:
    """Allow to decrypt by the customer's keys, by their ARNs, through one service only.

    The key's own policy has to let the account's IAM decide, as that of a new key does.
    """
    stack = Stack.of(role)
    through = f"{service}.{stack.region}.{stack.url_suffix}"
    allow(role, ["kms:Decrypt"], keys, {"StringEquals": {"kms:ViaService": through}})


def allow_login(role: iam.Role, target: TargetConfig) -> None:
    """Allow a role to log in to a target with `auth = "iam"`; nothing for any other login."""
    declared: Any = targets.load(target.kind).Settings
    settings = read(declared, target.settings)
    if isinstance(settings, IamLogin) and settings.by_iam:
        for actions, resources in settings.iam_rights():
            allow(role, actions, resources)


def _secret_arn(role: iam.IRole, name: str) -> str:
    # Secrets Manager appends a hyphen and six characters of its own to a secret's name.
    return name if name.startswith("arn:") else arn(role, SECRETS, f"secret:{name}-??????")


def arn(scope: IConstruct, service: str, resource: str) -> str:
    """Return the ARN of a resource in the account and region of the scope's stack."""
    return f"{arn_prefix(scope, service)}:{resource}"


def arn_prefix(scope: IConstruct, service: str) -> str:
    """Return the beginning of the ARNs of a service's resources there."""
    stack = Stack.of(scope)
    return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}"


def bucket_arn(scope: IConstruct, name: str) -> str:
    """Return the ARN of a bucket, or of objects in it; the name may have a `*`."""
    return f"arn:{Stack.of(scope).partition}:s3:::{name}"
