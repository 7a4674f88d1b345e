"""The right to decrypt by a customer's keys, through the service that asks for it and no other."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

SECRETS = "secretsmanager"
OBJECTS = "s3"


def let_decrypt(role: iam.Role, keys: Sequence[str], service: str) -> None:
    """Let a role read what the service keeps under the keys, by their ARNs.

    The key's own policy has to let the account's IAM decide, as that of a new key does.
    """
    if not keys:
        return
    stack = Stack.of(role)
    through = f"{service}.{stack.region}.{stack.url_suffix}"
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["kms:Decrypt"],
            resources=list(keys),
            conditions={"StringEquals": {"kms:ViaService": through}},
        )
    )
