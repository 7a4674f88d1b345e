"""boto3 clients of the local AWS, whatever the caller's own AWS settings are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from localstack.layout import aws_variables

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

# Connections to this machine use no proxy.
DIRECT = Config(proxies={}, retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30)


def cloudformation() -> CloudFormationClient:
    """Return a client for stacks."""
    return _session().client("cloudformation", endpoint_url=_endpoint(), config=DIRECT)


def dynamodb() -> DynamoDBClient:
    """Return a client for tables."""
    return _session().client("dynamodb", endpoint_url=_endpoint(), config=DIRECT)


def secretsmanager() -> SecretsManagerClient:
    """Return a client for secrets."""
    return _session().client("secretsmanager", endpoint_url=_endpoint(), config=DIRECT)


def _session() -> boto3.Session:
    variables = aws_variables()
    return boto3.Session(
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        region_name=variables["AWS_REGION"],
    )


def _endpoint() -> str:
    return aws_variables()["AWS_ENDPOINT_URL"]
