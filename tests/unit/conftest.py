"""An AWS that answers inside the process, and properties that do not watch the clock."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from hypothesis import settings
from moto import mock_aws

from tests.unit.fake_aws import make_rules_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

settings.register_profile("unit", deadline=None, max_examples=50)
settings.load_profile("unit")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No call leaves the process, and no credentials of the machine are used."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield


@pytest.fixture(scope="session")
def clients() -> boto3.Session:
    """Clients take long to make and keep nothing from one test to the next."""
    return boto3.Session("testing", "testing", region_name="eu-central-1")


@pytest.fixture(scope="session")
def sqs_client(clients: boto3.Session) -> "SQSClient":
    return clients.client("sqs")


@pytest.fixture(scope="session")
def dynamodb_client(clients: boto3.Session) -> "DynamoDBClient":
    return clients.client("dynamodb")


@pytest.fixture(scope="session")
def s3_client() -> "S3Client":
    return boto3.Session("testing", "testing", region_name="us-east-1").client("s3")


@pytest.fixture
def s3(aws: None, s3_client: "S3Client") -> "S3Client":  # noqa: ARG001 - it answers
    return s3_client


@pytest.fixture
def sqs(aws: None, sqs_client: "SQSClient") -> "SQSClient":  # noqa: ARG001 - it answers
    return sqs_client


@pytest.fixture
def dynamodb(aws: None, dynamodb_client: "DynamoDBClient") -> "DynamoDBClient":  # noqa: ARG001
    return dynamodb_client


@pytest.fixture
def rules_table(dynamodb: "DynamoDBClient") -> str:
    return make_rules_table(dynamodb)
