"""The CDK app: one configuration makes one stack. Synthesis calls no AWS.

Context: `config` (path, default `bucketcast.toml`), `stack` (name, default `Bucketcast`) and
`local` (`true`: the functions run on this machine, so they are bundled for its interpreter, plain
secrets are allowed, and nothing outlives the stack). `cdk.json` has CDK's feature flags, so that a
new version of the library changes no stack; `_check_size` counts the resources instead of
CDK, and a template of 1 MB, all that CloudFormation takes, needs no indentation.
"""

import os
import sys
from pathlib import Path

from aws_cdk import App, CfnResource, Environment, Stack

from bucketcast.config import load
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast_cdk import Bucketcast

ROOT = Path(__file__).resolve().parent
FAILED = 1
MISUSE = 2
RESOURCES = 500
TARGETS = 33
"""Targets that fit in a stack with all of its options and a few buckets."""


def build(app: App) -> Stack:
    """Make the stack that the app's context and the environment ask for.

    Raises:
        ConfigErrors: all that is wrong with the configuration, or it is too large for a stack.
    """
    local = str(app.node.try_get_context("local")).lower() == "true"
    path = Path(app.node.try_get_context("config") or ROOT / "bucketcast.toml")
    if local:
        # A copy into the assembly that is cut short would be taken for whole the next time.
        app.node.set_context("aws:cdk:disable-asset-staging", True)  # noqa: FBT003 - jsii's signature
        # AWS's rules are for AWS: what they find is said, and refuses nothing.
        app.node.set_context("@aws-cdk/core:validateAgainstDefaultRules", False)  # noqa: FBT003
    name = app.node.try_get_context("stack") or "Bucketcast"
    config = load(path, os.environ, local=local, stack=name)
    stack = Stack(
        app,
        name,
        description="Bucket notifications for Amazon S3",
        env=Environment(
            account=os.environ.get("CDK_DEFAULT_ACCOUNT"),
            region=os.environ.get("CDK_DEFAULT_REGION"),
        ),
    )
    # CDK leaves `Default` out of logical ids.
    Bucketcast(stack, "Default", config=config, local=local)
    if not local:
        _check_size(stack)
    return stack


def _check_size(stack: Stack) -> None:
    """Check that CloudFormation accepts the number of resources of a complete stack."""
    count = sum(isinstance(node, CfnResource) for node in stack.node.find_all())
    if count > RESOURCES:
        error = ConfigError(
            stack.stack_name,
            f"it comes to {count:,} resources",
            f"CloudFormation takes {RESOURCES}, so about {TARGETS} targets fit in a stack: use "
            "dynamic targets (`bucketcast target add`) for more",
        )
        raise ConfigErrors([error])


def main() -> int:
    app = App()
    try:
        build(app)
    except ConfigErrors as errors:
        sys.stderr.write(f"{errors}\n")
        return MISUSE
    try:
        app.synth()
    except RuntimeError as error:
        # CDK has printed what it found, so its own traceback would only push that away.
        if "ValidationFailed" not in str(error):
            raise
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
