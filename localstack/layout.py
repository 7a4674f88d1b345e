"""The layout of the local system: folders, the emulator's address, its made-up account.

`BUCKETCAST_LOCAL` moves the state (pid files, logs, `env`) elsewhere and `MINISTACK_PORT` the
emulator, so that a second system can run beside the first. Installed tools are shared.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = ROOT / ".local"
LOCAL = ROOT / os.environ.get("BUCKETCAST_LOCAL", ".local")
LOGS = LOCAL / "logs"
ENV_FILE = LOCAL / "env"

PROJECT_VENV = ROOT / ".venv"
EMULATOR_VENV = INSTALLED / "ministack-venv"
AWS_CLI_VENV = INSTALLED / "aws-cli-venv"
LAMBDA_VENV = INSTALLED / "lambda-venv"
CDK = ROOT / "node_modules" / ".bin" / "cdk"

STACK = "Bucketcast"
ACCOUNT = "000000000000"
REGION = "us-east-1"
DEFAULT_PORT = 4566


class Failure(Exception):
    """An error with a remedy, for the user of the command."""


def read_record(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty without one, as where a command was killed."""
    try:
        record = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def port() -> int:
    """Return the emulator's port, or raise Failure when MINISTACK_PORT is not a port."""
    return port_from("MINISTACK_PORT", DEFAULT_PORT)


def port_from(variable: str, default: int) -> int:
    """Return the port in a variable, or raise Failure when it is not a port."""
    value = os.environ.get(variable) or str(default)
    if not value.isdecimal() or not 0 < int(value) < 65536:  # noqa: PLR2004 - the largest port
        raise Failure(f"{variable} is {value!r}: give a port number from 1 to 65535")
    return int(value)


def endpoint() -> str:
    """Return the address of the local AWS.

    `LOCALSTACK_ENDPOINT` names one that runs already; it is then used as it is. An IP address, not
    `localhost`: with a name, AWS clients put the bucket in front of it, which does not resolve.
    """
    return os.environ.get("LOCALSTACK_ENDPOINT") or f"http://127.0.0.1:{port()}"


def aws_variables() -> dict[str, str]:
    """Return the variables that point any AWS client at the local AWS."""
    return {
        "AWS_ENDPOINT_URL": endpoint(),
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }


def aws_environment() -> dict[str, str]:
    """Return this process's environment with every AWS variable replaced by the local ones.

    No setting of a real account may leak in: a profile or a session token would override the keys.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    direct = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    return kept | direct | aws_variables() | {"AWS_EC2_METADATA_DISABLED": "true"}
