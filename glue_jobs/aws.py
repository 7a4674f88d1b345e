"""AWS as the jobs use it: a client per service, and the state table."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.utils import parse_timestamp

from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules


@cache
def client(service: str) -> Any:
    """Return a process's client of a service, shared by its tasks.

    It waits longer than a function's, since a job has hours.
    """
    config = Config(
        retries={"mode": "adaptive", "max_attempts": 10},
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=32,
    )
    session = botocore.session.get_session()
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_parse_time)
    return boto3.Session(botocore_session=session).client(service, config=config)  # type: ignore[call-overload]


def _parse_time(value: Any) -> datetime:
    """Parse a response's time; boto3's own parser takes half of a listing's time."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):  # seconds since 1970, or as in HTTP's headers
        return parse_timestamp(value)
    return time if time.tzinfo else parse_timestamp(value)


def read_rules(bucket: str, table: str) -> list[Rule]:
    """Return the bucket's rules that are not disabled.

    Raises:
        BucketcastError: the table, which `--table` names, cannot be read.
    """
    with state_table_errors(table):
        return Rules(table, client("dynamodb")).active(bucket)


@contextmanager
def state_table_errors(table: str) -> Iterator[None]:
    """Turn DynamoDB's errors into errors that name the option and the table.

    Raises:
        BucketcastError: instead of these.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise BucketcastError(f"--table: {table}: {error}") from error
