"""ARNs of resources that a stack refers to by name."""

from aws_cdk import Stack
from constructs import IConstruct


def arn(scope: IConstruct, service: str, resource: str) -> str:
    """Return the ARN of a resource in the account and region of the scope's stack."""
    return f"{arn_prefix(scope, service)}:{resource}"


def arn_prefix(scope: IConstruct, service: str) -> str:
    """Return how the ARNs of a service's resources begin there."""
    stack = Stack.of(scope)
    return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}"


def bucket_arn(scope: IConstruct, name: str) -> str:
    """Return the ARN of a bucket, or of objects in it; the name may have a `*`."""
    return f"arn:{Stack.of(scope).partition}:s3:::{name}"
