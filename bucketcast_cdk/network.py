"""A function in a VPC: its interfaces, and a security group of its own where none is named."""

from typing import Final

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast.config.function import FunctionOptions
from bucketcast.settings.egress import VARIABLE, Egress
from bucketcast_cdk.function import Function
from bucketcast_cdk.permissions import allow

_ACTIONS: Final = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)


def join(scope: Construct, function: Function, name: str, options: FunctionOptions) -> None:
    """Put a function into the VPC of the options; without subnets it is in none.

    Their ids are used as given: a look-up would need AWS at synth.
    """
    if not options.subnets:
        return
    allow(function.role, _ACTIONS, ["*"])
    groups = list(options.security_groups)
    if not groups and options.vpc:
        group = ec2.CfnSecurityGroup(
            scope,
            "SecurityGroup",
            vpc_id=options.vpc,
            group_description=f"{name}: may connect to anything, is connected to by none",
        )
        groups = [group.attr_group_id]
    cfn = function.function.node.default_child
    if isinstance(cfn, lambda_.CfnFunction):
        cfn.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
            subnet_ids=list(options.subnets), security_group_ids=groups
        )


def egress(allowed: Egress, *, local: bool) -> dict[str, str]:
    """Return the variable that limits the addresses a function connects to; none locally."""
    return {} if local else {VARIABLE: allowed.to_text()}
