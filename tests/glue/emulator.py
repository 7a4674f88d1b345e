"""The local S3, SQS and DynamoDB of the Spark tests: started when a test first asks for it."""

from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import boto3

from localstack.layout import EMULATOR_VENV, REGION
from tests.servers.machine import ports
from tests.servers.process import Process

_DIRECT = build_opener(ProxyHandler({}))


class Emulator:
    """An emulator of these tests alone; its address is known before it runs."""

    def __init__(self, folder: Path) -> None:
        self._scratch = folder / "tmp"
        self._port = ports(folder, "ministack")["ministack"]
        self.endpoint = f"http://127.0.0.1:{self._port}"
        self._process = Process(
            [str(EMULATOR_VENV / "bin" / "python"), "-m", "ministack"],
            folder,
            ready=self._health,
            not_ready_yet=(URLError, OSError),
            environment={
                "GATEWAY_PORT": str(self._port),
                "BIND_HOST": "127.0.0.1",
                "MINISTACK_HOST": "127.0.0.1",
                "MINISTACK_REGION": REGION,
                "TMPDIR": str(self._scratch),
                # Services with a port of their own, which no test uses.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "PYTHONPATH": "",
            },
        )

    def variables(self) -> dict[str, str]:
        """Return the environment that directs any AWS client to it, and none to a real account."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    def client(self, service: str) -> Any:
        """Return a client of it, for the test itself."""
        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def drain(self, queue: str) -> list[str]:
        """Return the bodies of all messages in their order, and delete the messages."""
        sqs, bodies = self.client("sqs"), list[str]()
        while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            for message in batch:
                bodies.append(message["Body"])
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return bodies

    def start(self) -> None:
        """Start it and wait until it responds; do nothing if it runs already."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._process.start()

    def stop(self) -> None:
        self._process.stop()

    def _health(self) -> None:
        with _DIRECT.open(f"{self.endpoint}/_localstack/health", timeout=2):
            pass
