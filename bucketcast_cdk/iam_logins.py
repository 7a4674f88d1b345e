"""The permission to log in to a target of AWS's own, as its settings name it, and to no other."""

from typing import Any

from aws_cdk import aws_iam as iam

from bucketcast import targets
from bucketcast.config import TargetConfig
from bucketcast.settings.options import read
from bucketcast.targets.base.iam import IamLogin
from bucketcast_cdk import nag
from bucketcast_cdk.permissions import allow


def allow_login(role: iam.Role, target: TargetConfig) -> None:
    """Allow a role to log in to a target with `auth = "iam"`; nothing for any other login."""
    declared: Any = targets.load(target.kind).Settings
    settings = read(declared, target.settings)
    if isinstance(settings, IamLogin) and settings.by_iam:
        for actions, resources in settings.iam_rights():
            nag.accept_wildcards(role, resources, nag.LOGINS)
            allow(role, actions, resources)
