"""What a request needs besides its own properties: AWS's clients and the state of its stack."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import boto3
from botocore.config import Config

Clients = Callable[[str], Any]
DELETE: Final = "Delete"

_CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"max_attempts": 3})


def client(service: str) -> Any:
    """Return a client of a service."""
    return boto3.client(service, config=_CONFIG)  # type: ignore[call-overload]


def is_rolled_back(event: Mapping[str, Any], clients: Clients) -> bool:
    """Return whether the deploy of the request has failed and is being undone."""
    found = clients("cloudformation").describe_stacks(StackName=event["StackId"])
    (stack,) = found["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]
