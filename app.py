"""The CDK app: one configuration makes one stack. Synthesis calls no AWS.

Context: `config` (path, default `bucketcast.toml`), `stack` (name, default `Bucketcast`) and
`local` (`true`: the functions run on this machine, so they are bundled for its interpreter, plain
secrets are allowed, and nothing outlives the stack). The `context` of `cdk.json` overrides the
feature flags below.
"""

import json
import os
import sys
import tarfile
from pathlib import Path
from typing import IO, cast

import aws_cdk
from aws_cdk import App, Environment, Stack, Validations
from cdk_nag import AwsSolutionsChecks

from bucketcast.config import load
from bucketcast.errors import ConfigErrors
from bucketcast_cdk import Bucketcast, limits

ROOT = Path(__file__).resolve().parent
FAILED = 1
MISUSE = 2


def feature_flags() -> dict[str, object]:
    """Return the flags that this version of CDK recommends, and two for large stacks.

    `cdk init` would copy the recommended ones, some ninety, into `cdk.json`. The library has them
    in a file that Python offers no name for.
    """
    (library,) = Path(aws_cdk.__file__).parent.glob("_jsii/aws-cdk-lib@*.tgz")
    with tarfile.open(library) as files:
        # By its name alone, the whole library would be unpacked.
        name = "package/recommended-feature-flags.json"
        recommended = files.extractfile(next(each for each in files if each.name == name))
        return {
            **json.load(cast("IO[bytes]", recommended)),
            # `limits.check_size` counts the resources, and says what to do about too many.
            "@aws-cdk/core:stackResourceLimit": 0,
            # CloudFormation takes a template of 1 MB, spaces included.
            "@aws-cdk/core:suppressTemplateIndentation": True,
        }


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
        limits.check_size(stack)
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return stack


def main() -> int:
    app = App(context=feature_flags())
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
