"""The limit of resources in a stack, checked before anything is made."""

from typing import Final

from aws_cdk import CfnResource, Stack

from bucketcast.errors import ConfigError, ConfigErrors

_RESOURCES: Final = 500
_TARGETS: Final = 33
"""Targets that fit in a stack with all of its options and a few buckets."""


def check_size(stack: Stack) -> None:
    """Check that CloudFormation accepts the number of resources of a complete stack.

    Raises:
        ConfigErrors: there are too many.
    """
    count = sum(isinstance(node, CfnResource) for node in stack.node.find_all())
    if count > _RESOURCES:
        error = ConfigError(
            stack.stack_name,
            f"it comes to {count:,} resources",
            f"CloudFormation takes {_RESOURCES}, so about {_TARGETS} targets fit in a stack: use "
            "dynamic targets (`bucketcast target add`) for more",
        )
        raise ConfigErrors([error])
