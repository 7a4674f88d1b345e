"""AWS clients for functions: with time limits, and errors that say what a function in a VPC lacks.

boto3 waits a minute for each try, as long as most functions run. In a VPC without a way to a
service they would be killed, and nobody would be told why.
"""

import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

from bucketcast.finding import Finding
from bucketcast.limits import CALLS
from bucketcast.telemetry import logger

AT_ONCE: Final = 16
"""How many calls may be made with one client at a time."""
LIMITS: Final = Config(**CALLS, max_pool_connections=AT_ONCE)
IN_PASSING: Final = LIMITS.merge(Config(connect_timeout=1, read_timeout=2))
"""For what a batch can do without, and so does not wait for."""
PATIENT: Final = LIMITS.merge(
    Config(read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4})
)
"""For a deploy, which a call without an answer would undo."""
_FREE: Final = ("DynamoDB", "S3")
"""The services with endpoints of the kind `gateway`, which cost nothing."""


def client(service: str, limits: Config = LIMITS) -> Any:
    """Return a client of a service; where it cannot connect, it logs the reason and the cure."""
    made = boto3.client(service, config=limits)  # type: ignore[call-overload]
    made.meta.events.register("after-call-error", partial(_explain, _cure(made)))
    return made


def unreached(services: Iterable[str]) -> Iterator[Finding]:
    """Try to connect to each service; yield a finding about each that cannot be reached."""
    clients = [client(each) for each in services]
    with ThreadPoolExecutor() as pool:
        for each, error in zip(clients, pool.map(_connect, clients), strict=True):
            if error:
                name, at = each.meta.service_model.service_id, each.meta.endpoint_url
                yield Finding("aws", "", "error", f"{name} at {at}: {error}", _cure(each))


def _connect(made: Any) -> str:
    """Return why there is no connection to a client's service, "" if there is."""
    at = urlsplit(made.meta.endpoint_url)
    port = at.port or {"http": 80, "https": 443}[at.scheme]
    try:
        socket.create_connection((at.hostname, port), CALLS["connect_timeout"]).close()
    except OSError as error:
        return str(error)
    return ""


def _cure(made: Any) -> str:
    service = made.meta.service_model.service_id
    kind = "a gateway" if service in _FREE else "an interface"
    return f"in a VPC it needs a NAT gateway or {kind} endpoint for {service}"


def _explain(cure: str, exception: Exception, **_: Any) -> None:
    """Add the cure to the text of an error of botocore's if there was no connection."""
    if isinstance(exception, ConnectTimeoutError | EndpointConnectionError):
        exception.args = (f"{exception}; {cure}",)
        logger.error("no connection to an AWS service", reason=str(exception))
