"""Which stack a thing stands in: the first, or one of a few that are nested in it.

CloudFormation takes 500 resources a stack. Where `nested` is on, what holds nothing (functions,
alarms, policies of queues, rules, schedules) goes into nested stacks, and queues, tables, buckets
and what wires them stay where they are: a resource that moves to another stack is made anew. For
the same reason the nested stack of a thing depends on its own name and on nothing else, and what
has a name of ours has another one there, so that old and new can stand beside each other.
"""

import zlib
from typing import Final

from aws_cdk import NestedStack, Stack
from constructs import Construct

TARGETS: Final = 8
"""Stacks for the functions of targets: a constant, or functions would move when it changes."""
MARK: Final = "nested-"
_KNOWN: Final = "Nested"


def deployed_name(scope: Construct) -> str:
    """Return the name of the stack that is deployed, not of one that is nested in it."""
    stack = Stack.of(scope)
    while stack.nested_stack_parent:
        stack = stack.nested_stack_parent
    return stack.stack_name


class Nesting(Construct):
    """The nested stacks, made when something goes into them; none where it is not `on`."""

    def __init__(self, scope: Construct, *, on: bool) -> None:
        super().__init__(scope, _KNOWN)
        self._on = on

    @property
    def is_on(self) -> bool:
        return self._on

    @property
    def prefix(self) -> str:
        """How names of ours begin: `Bucketcast-`."""
        name = Stack.of(self).stack_name
        return f"{name}-{MARK if self._on else ''}"

    def place(self, group: str, construct_id: str, otherwise: Construct) -> Construct:
        """Return where the resources of a thing go; `otherwise` where nothing is nested."""
        if not self._on:
            return otherwise
        found = self.node.try_find_child(group)
        stack = found if isinstance(found, NestedStack) else NestedStack(self, group)
        there = stack.node.try_find_child(construct_id)
        return there if isinstance(there, Construct) else Construct(stack, construct_id)

    def of_target(self, kind: str, id_: str, otherwise: Construct) -> Construct:
        """Return where the function and the alarms of a target go."""
        number = zlib.crc32(f"{kind}/{id_}".encode()) % TARGETS
        return self.place(f"Targets{number}", f"{kind}-{id_}", otherwise)
