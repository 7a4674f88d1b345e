"""Clients of the gateway."""

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config

from tests.e2e.system import Deployed


def client(
    system: Deployed, service: str, url: str = "", keys: Mapping[str, str] | None = None
) -> Any:
    """A client of a gateway; `keys` is what `bucketcast user add --json` printed."""
    where = system.environment
    own = keys or {
        "access_key": where["BUCKETCAST_ACCESS_KEY"],
        "secret_key": where["BUCKETCAST_SECRET_KEY"],
    }
    return boto3.client(  # type: ignore[call-overload]
        service,
        endpoint_url=url or where["BUCKETCAST_URL"],
        region_name=where["AWS_REGION"],
        aws_access_key_id=own["access_key"],
        aws_secret_access_key=own["secret_key"],
        config=Config(
            signature_version="s3v4", read_timeout=120, retries={"total_max_attempts": 1}
        ),
    )
