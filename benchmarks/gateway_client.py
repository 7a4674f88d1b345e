"""Clients of the gateway that `make up` started, by the variables in `.local/env`."""

import os
from typing import Any

import boto3
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials


def variable(name: str) -> str:
    """Return a variable of `.local/env`, or end with how to set it."""
    try:
        return os.environ[name]
    except KeyError:
        raise SystemExit(f"{name} is not set: run `make up` and `set -a; . .local/env`") from None


def client(service: str = "s3", url: str = "", **config: Any) -> Any:
    """Return a client of the gateway, or of one at another URL, that makes each call once."""
    return boto3.client(  # type: ignore[call-overload]
        service,
        endpoint_url=url or variable("BUCKETCAST_URL"),
        region_name=variable("AWS_REGION"),
        aws_access_key_id=variable("BUCKETCAST_ACCESS_KEY"),
        aws_secret_access_key=variable("BUCKETCAST_SECRET_KEY"),
        config=Config(retries={"total_max_attempts": 1}, **config),
    )


def sign(request: AWSRequest, auth: type[SigV4Auth] = S3SigV4Auth) -> None:
    """Sign a request with the local user's keys."""
    keys = Credentials(variable("BUCKETCAST_ACCESS_KEY"), variable("BUCKETCAST_SECRET_KEY"))
    auth(keys, "s3", variable("AWS_REGION")).add_auth(request)
