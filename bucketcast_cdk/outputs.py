"""The names of outputs, by which the command line finds what was deployed.

CDK derives them from the path of constructs in the stack, where a Bucketcast may stand anywhere.
"""

import hashlib
import re
from typing import Final

from aws_cdk import CfnOutput, Stack
from constructs import Construct

_MOST: Final = 240
_DIGITS: Final = 8


def name_within(scope: Construct) -> None:
    """Name the outputs in `scope` as CDK does where it is the stack itself."""
    stack, above = Stack.of(scope), len(scope.node.path)
    for found in scope.node.find_all():
        if isinstance(found, CfnOutput) and Stack.of(found).node.path == stack.node.path:
            found.override_logical_id(logical_id(found.node.path[above:].strip("/")))


def logical_id(path: str) -> str:
    """Return CDK's logical id of an output at a path within its stack."""
    parts = path.split("/")
    names = [re.sub(r"[^A-Za-z0-9]", "", part) for part in parts]
    if len(names) == 1:
        return names[0]
    digest = hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()
    return "".join(names)[:_MOST] + digest[:_DIGITS].upper()
