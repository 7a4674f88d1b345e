"""AWS clients for functions: with time limits, and errors that name what a VPC lacks.

botocore waits a minute for each try, as long as most functions run. In a VPC without a way to a
service they would be killed, and no log would have the reason. What boto3 adds to it, transfers of
files and resources, no function needs, and it takes a while to import.
"""

import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.session import Session

from bucketcast.finding import Finding
from bucketcast.limits import AWS_CALL_LIMITS
from bucketcast.telemetry import logger

AT_ONCE: Final = 32
"""The number of calls that one client may make at a time."""
LIMITS: Final = Config(**AWS_CALL_LIMITS, max_pool_connections=AT_ONCE)
OPTIONAL_CALL: Final = LIMITS.merge(Config(connect_timeout=1, read_timeout=1.5))
"""Limits of calls that a batch does not need, or only some of its events."""
DEPLOY_CALL: Final = LIMITS.merge(
    Config(read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4})
)
"""Limits of a deploy's calls: one that fails would roll the deploy back."""
_FREE: Final = ("DynamoDB", "S3")
"""The services with endpoints of the kind `gateway`, which cost nothing."""


def client(service: str, limits: Config = LIMITS) -> Any:
    """Return a client of a service; where it cannot connect, it logs the reason and the cure."""
    created: Any = _session().create_client(service, config=limits)
    created.meta.events.register("after-call-error", partial(_explain, _cure(created)))
    return created


_session = cache(Session)


def find_unreachable(services: Iterable[str]) -> Iterator[Finding]:
    """Try to connect to each service; yield a finding about each that cannot be reached."""
    clients = [client(service) for service in services]
    with ThreadPoolExecutor() as pool:
        for tried, error in zip(clients, pool.map(_connect, clients), strict=True):
            if error:
                name, url = tried.meta.service_model.service_id, tried.meta.endpoint_url
                yield Finding("aws", "", "error", f"{name} at {url}: {error}", _cure(tried))


def _connect(service_client: Any) -> str:
    """Try to connect to a client's service; return the error, "" if there is none."""
    url = urlsplit(service_client.meta.endpoint_url)
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    try:
        # Not as targets do: botocore tries the addresses of AWS' own names in this way, too.
        socket.create_connection((url.hostname, port), AWS_CALL_LIMITS["connect_timeout"]).close()
    except OSError as error:
        return str(error)
    return ""


def _cure(service_client: Any) -> str:
    service = service_client.meta.service_model.service_id
    kind = "a gateway" if service in _FREE else "an interface"
    return f"in a VPC it needs a NAT gateway or {kind} endpoint for {service}"


def _explain(cure: str, exception: Exception, **_: Any) -> None:
    """Add the cure to the text of an error of botocore's if there was no connection."""
    if isinstance(exception, ConnectTimeoutError | EndpointConnectionError):
        exception.args = (f"{exception}; {cure}",)
        logger.error("no connection to an AWS service", reason=str(exception))
