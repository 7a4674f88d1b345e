"""The stack's outputs, by whose names the command line finds the deployment."""

from zlib import crc32

from aws_cdk import CfnOutput
from constructs import Construct


def output(scope: Construct, name: str, value: str) -> None:
    """Add an output with this name, wherever in the stack the scope is."""
    CfnOutput(scope, name, value=value).override_logical_id(name)


def output_of(scope: Construct, kind: str, label: str, value: str) -> None:
    """Add the output of one of several constructs of a kind, told apart by their labels."""
    output(scope, f"{kind}{crc32(label.encode()):08x}", value)
