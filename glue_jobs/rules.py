"""Read the rules of a bucket from a job."""

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.aws.rules import Rules
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from glue_jobs.aws import client


def of(bucket: str, table: str) -> list[Rule]:
    """Return the bucket's rules.

    Raises:
        BucketcastError: the table, which `--rules` names, cannot be read.
    """
    try:
        return Rules(table, client("dynamodb")).of(bucket)
    except (BotoCoreError, ClientError) as error:
        raise BucketcastError(f"--rules: {table}: {error}") from error
