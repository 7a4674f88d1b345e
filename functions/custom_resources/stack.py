"""What a request needs besides its own properties: AWS's clients and the state of its stack."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bucketcast.aws import function_clients

Clients = Callable[[str], Any]
DELETE: Final = "Delete"


def client(service: str) -> Any:
    """Return a client of a service."""
    return function_clients.client(service, function_clients.PATIENT)


def is_rolled_back(event: Mapping[str, Any], clients: Clients) -> bool:
    """Return whether the deploy of the request has failed and is being undone."""
    found = clients("cloudformation").describe_stacks(StackName=event["StackId"])
    (stack,) = found["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]
