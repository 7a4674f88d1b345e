"""AWS clients, one per service and process, shared by a worker's tasks."""

from datetime import datetime
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.utils import parse_timestamp


@cache
def client(service: str) -> Any:
    """Return a client that waits longer than a function may, since a job has hours."""
    patient = Config(
        retries={"mode": "adaptive", "max_attempts": 10},
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=32,
    )
    session = botocore.session.get_session()
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_moment)
    return boto3.Session(botocore_session=session).client(service, config=patient)  # type: ignore[call-overload]


def _moment(text: Any) -> datetime:
    """Parse a response's time; boto3's own parser takes half of a listing's time."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):  # seconds since 1970, or as in HTTP's headers
        return parse_timestamp(text)
    return moment if moment.tzinfo else parse_timestamp(text)
