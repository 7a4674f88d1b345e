"""AWS's clients, one of each a process: a worker's tasks share them."""

from datetime import datetime
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.utils import parse_timestamp


@cache
def client(service: str) -> Any:
    """A client that waits longer than a function may: a job has hours, and thousands of callers."""
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
    """A time of an answer; boto3's own reader takes half of all the time that a listing takes."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):  # seconds since 1970, or as in HTTP's headers
        return parse_timestamp(text)
    return moment if moment.tzinfo else parse_timestamp(text)
