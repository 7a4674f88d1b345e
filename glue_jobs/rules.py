"""The rules of a bucket, as a job reads them."""

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.store.rules import Rules
from glue_jobs.aws import client


def of(bucket: str, table: str) -> list[Rule]:
    """The rules in force.

    Raises:
        BucketcastError: the table, which `--rules` names, cannot be read.
    """
    try:
        return Rules(table, client("dynamodb")).of(bucket)
    except (BotoCoreError, ClientError) as error:
        raise BucketcastError(f"--rules: {table}: {error}") from error
