"""Which stack a resource is in: the first, or one of a few that are nested in it.

CloudFormation takes 500 resources a stack. Where `nested` is on, resources without data
(functions, alarms, policies of queues, rules, schedules) go into nested stacks, and queues, tables,
buckets and what connects them stay where they are: a resource that moves to another stack is made
anew. For the same reason the nested stack of a resource depends on its own name and on nothing
else, and what has a name of ours has another one there, so that old and new can coexist.
"""

import zlib
from typing import Final

from aws_cdk import NestedStack, Stack
from constructs import Construct

TARGETS: Final = 8
"""Stacks for the functions of targets: a constant, or functions would move when it changes."""
INFIX: Final = "nested-"
_ID: Final = "Nested"


def deployed_name(scope: Construct) -> str:
    """Return the name of the stack that is deployed, not of one that is nested in it."""
    stack = Stack.of(scope)
    while stack.nested_stack_parent:
        stack = stack.nested_stack_parent
    return stack.stack_name


class Nesting(Construct):
    """The nested stacks, made when something goes into them; none where it is not `on`."""

    def __init__(self, scope: Construct, *, on: bool) -> None:
        super().__init__(scope, _ID)
        self._on = on

    @property
    def is_on(self) -> bool:
        return self._on

    @property
    def prefix(self) -> str:
        """How names of ours begin: `Bucketcast-`."""
        name = Stack.of(self).stack_name
        return f"{name}-{INFIX if self._on else ''}"

    def scope_for(self, group: str, construct_id: str, default: Construct) -> Construct:
        """Return the scope for resources of a group; `default` where nothing is nested."""
        if not self._on:
            return default
        found = self.node.try_find_child(group)
        stack = found if isinstance(found, NestedStack) else NestedStack(self, group)
        made = stack.node.try_find_child(construct_id)
        return made if isinstance(made, Construct) else Construct(stack, construct_id)

    def scope_for_target(self, kind: str, id_: str, default: Construct) -> Construct:
        """Return the scope for the function and the alarms of a target."""
        number = zlib.crc32(f"{kind}/{id_}".encode()) % TARGETS
        return self.scope_for(f"Targets{number}", f"{kind}-{id_}", default)
