"""The right to log in to a target of AWS's own, as its settings name it, and to no other."""

from typing import Any

from aws_cdk import aws_iam as iam

from bucketcast import targets
from bucketcast.config import TargetConfig
from bucketcast.settings.options import read
from bucketcast.targets.base.iam import IamLogin
from bucketcast_cdk import nag


def let_log_in(role: iam.Role, target: TargetConfig) -> None:
    """Let a role log in to a target with `auth = "iam"`; nothing for any other login."""
    declared: Any = targets.load(target.kind).Settings
    settings = read(declared, target.settings)
    if isinstance(settings, IamLogin) and settings.by_iam:
        for actions, resources in settings.iam_rights():
            for resource in resources:
                if resource.endswith("*"):
                    nag.accept_ends_of_a_login(role, resource)
            role.add_to_policy(
                iam.PolicyStatement(actions=list(actions), resources=list(resources))
            )
