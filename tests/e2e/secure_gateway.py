"""A second gateway before the same stack that counts its calls as HTTPS: passwords may be given."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.e2e.commands import COMMAND
from tests.e2e.system import Deployed, System
from tests.servers.machine import ports
from tests.servers.process import Process


@contextmanager
def secure_gateway(system: System, folder: Path) -> Iterator[str]:
    """The URL of `bucketcast gateway --secure always`."""
    folder.mkdir(parents=True, exist_ok=True)
    port = ports(folder, "secure")["secure"]

    def ready() -> None:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()

    process = Process(
        [str(COMMAND), "gateway", "--port", str(port), "--secure", "always"],
        folder,
        ready=ready,
        not_ready_yet=(OSError,),
        environment=dict(system.environment),
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()


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
