"""AWS clients for the command line: created lazily, with errors that have a hint."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

CONNECT_SECONDS = 5
READ_SECONDS = 20
LOCAL_HINT = "for the local AWS: `make up`, then `set -a; . .local/env; set +a`"
LOGIN_HINT = f"set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; {LOCAL_HINT}"

_UNKNOWN_LOGIN = {
    "AuthFailure",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_EXPIRED_LOGIN = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"}
_making = Lock()


class AwsError(BucketcastError):
    """AWS did not answer, or refused; the text has a hint.

    `silent`: no answer in time. `denied`: a permission is missing. `code` is AWS's error code
    of any other refusal.
    """

    def __init__(
        self, text: str, *, silent: bool = False, denied: bool = False, code: str = ""
    ) -> None:
        super().__init__(text)
        self.code = code
        self.silent = silent
        self.denied = denied


def _client(service: str, *, attempts: int = 3) -> Any:
    """Return a property of `Aws`: the client of a service, created on first use."""
    return cached_property(lambda aws: aws.client(service, attempts))


class Aws:
    """Clients with the usual AWS environment, each created on first use."""

    cloudformation: "cached_property[CloudFormationClient]" = _client("cloudformation")
    # It takes 3 alarms a second from an account, and asks for a pause beyond that.
    cloudwatch: "cached_property[CloudWatchClient]" = _client("cloudwatch", attempts=10)
    dynamodb: "cached_property[DynamoDBClient]" = _client("dynamodb")
    events: "cached_property[EventBridgeClient]" = _client("events")
    # A probe that is not answered in time is an answer; asking again would only take longer.
    functions: "cached_property[LambdaClient]" = _client("lambda", attempts=1)
    glue: "cached_property[GlueClient]" = _client("glue")
    kms: cached_property[Any] = _client("kms")
    logs: "cached_property[CloudWatchLogsClient]" = _client("logs")
    # Lambda takes 15 such calls a second from an account, and asks for a pause beyond that.
    mappings: "cached_property[LambdaClient]" = _client("lambda", attempts=10)
    s3: "cached_property[S3Client]" = _client("s3")
    secretsmanager: "cached_property[SecretsManagerClient]" = _client("secretsmanager")
    sqs: "cached_property[SQSClient]" = _client("sqs")

    def __init__(self, *, read_seconds: float = READ_SECONDS) -> None:
        self._read_seconds = read_seconds

    def bucket_names(self) -> list[str]:
        """Return the account's buckets, sorted.

        Raises:
            AwsError: AWS cannot be reached.
        """
        with aws_errors():
            pages = self.s3.get_paginator("list_buckets").paginate()
            return sorted(bucket["Name"] for page in pages for bucket in page.get("Buckets", ()))

    def client(self, service: str, attempts: int) -> Any:
        """Return a new client of a service, with so many attempts a call."""
        import boto3  # noqa: PLC0415 - takes longer than all that needs no AWS
        from botocore.config import Config  # noqa: PLC0415 - as boto3

        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=self._read_seconds,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=32,
        )
        # To make a client is not safe among threads, to use one is.
        with aws_errors(), _making:
            # boto3 knows AWS_DEFAULT_REGION only; all other tools of AWS read AWS_REGION.
            region = os.environ.get("AWS_REGION") or None
            return boto3.client(service, region_name=region, config=config)  # type: ignore[call-overload]


@contextmanager
def aws_errors() -> Iterator[None]:
    """Turn botocore's errors into an `AwsError`."""
    try:
        yield
    except Exception as error:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as boto3

        if isinstance(error, ClientError):
            raise _refusal(error) from error
        if isinstance(error, BotoCoreError):
            raise _connection_error(error) from error
        raise


def _refusal(error: Any) -> AwsError:
    code = error.response.get("Error", {}).get("Code", "")
    text = error.response.get("Error", {}).get("Message", "") or str(error)
    if code in _EXPIRED_LOGIN:
        return AwsError(f"the AWS login has expired: log in again ({code})")
    if code in _UNKNOWN_LOGIN:
        return AwsError(f"AWS does not accept this login ({code}): {LOGIN_HINT}")
    if code in _DENIED:
        return AwsError(
            f"not allowed: {error.operation_name}: {text}; ask for this permission, "
            "or use another login with AWS_PROFILE",
            denied=True,
        )
    return AwsError(f"AWS refused {error.operation_name}: {code}: {text}", code=code)


def _connection_error(error: Exception) -> AwsError:
    from botocore import exceptions as kinds  # noqa: PLC0415 - as boto3

    no_login = kinds.NoCredentialsError, kinds.PartialCredentialsError, kinds.ProfileNotFound
    if isinstance(error, (*no_login, kinds.CredentialRetrievalError)):
        return AwsError(f"no AWS login: {error}; {LOGIN_HINT}")
    if isinstance(error, kinds.SSOError | kinds.TokenRetrievalError):
        return AwsError(f"the AWS login has expired: `aws sso login`, then again ({error})")
    if isinstance(error, kinds.ParamValidationError):
        return AwsError(str(error), code="ParamValidation")
    if isinstance(error, kinds.NoRegionError):
        return AwsError(f"no AWS region: set AWS_REGION; {LOCAL_HINT}")
    if isinstance(error, kinds.ConnectionError | kinds.HTTPClientError):
        own = os.environ.get("AWS_ENDPOINT_URL")
        hint = (
            f"AWS_ENDPOINT_URL is {own}: is the local AWS up? `make up` starts it"
            if own
            else "is there a way to the network?"
        )
        return AwsError(f"no answer from AWS: {error}; {hint}", silent=True)
    return AwsError(f"AWS cannot be reached: {error}")
