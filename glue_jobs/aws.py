"""AWS's clients, one of each a process: a worker's tasks share them."""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config


@cache
def client(service: str) -> Any:
    """A client that waits longer than a function may: a job has hours, and thousands of callers."""
    patient = Config(
        retries={"mode": "adaptive", "max_attempts": 10},
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=32,
    )
    return boto3.client(service, config=patient)  # type: ignore[call-overload]
