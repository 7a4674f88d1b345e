"""The application of a deployment, as its function calls it."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest

from bucketcast.gateway.factory import create_app
from bucketcast.users.aws import Users
from functions.gateway import url
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import TABLE, MotoAws
from tests.unit.web.requests import ANNA, HOST, SECRET, signed


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    deployed = deploy()
    Users("Bucketcast", TABLE, deployed.dynamodb, deployed.secretsmanager).add(ANNA, SECRET)
    return deployed


def called(aws: MotoAws, target: str) -> dict[str, Any]:
    """Return the answer of the function to Anna's GET."""
    app, parts = create_app("Bucketcast", TABLE, aws, objects=False), urlsplit(target)
    headers = {name.lower(): value for name, value in signed("GET", target).headers.items()}
    event = {
        "rawPath": parts.path,
        "rawQueryString": parts.query,
        "headers": {"host": HOST, **headers},
        "requestContext": {"http": {"method": "GET", "sourceIp": "192.0.2.7"}},
    }
    return asyncio.run(url.answer(app, event))


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("eu-central-1", "https://s3.eu-central-1.amazonaws.com"),
        ("eusc-de-east-1", "https://s3.eusc-de-east-1.amazonaws.eu"),
        ("us-iso-east-1", "https://s3.us-iso-east-1.c2s.ic.gov"),
    ],
)
def test_s3_is_where_botocore_finds_it(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch, region: str, endpoint: str
) -> None:
    monkeypatch.setattr(aws, "s3", boto3.client("s3", region_name=region))
    monkeypatch.setenv("AWS_REGION", region)
    assert f"objects are at {endpoint}<" in called(aws, "/images/a.jpg")["body"]
