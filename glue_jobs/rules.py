"""The state table, as jobs use it."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from glue_jobs.aws import client


def of(bucket: str, table: str) -> list[Rule]:
    """Return the bucket's rules.

    Raises:
        BucketcastError: the table, which `--table` names, cannot be read.
    """
    with named(table):
        return Rules(table, client("dynamodb")).of(bucket)


@contextmanager
def named(table: str) -> Iterator[None]:
    """Name the option and the table in DynamoDB's errors.

    Raises:
        BucketcastError: instead of these.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise BucketcastError(f"--table: {table}: {error}") from error
