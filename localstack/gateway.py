"""The gateway of the local system: `bucketcast gateway` in the background, and its user.

The user's keys are kept beside the rest of the state, so that they stay valid when the emulator
was started empty.
"""

from __future__ import annotations

import json
import os

from bucketcast.users import User
from bucketcast.users.aws import UserExistsError, Users, new_id, new_keys
from localstack import background, clients, deploy, ports
from localstack.emulator import RECORDER
from localstack.layout import LOCAL, PROJECT_VENV, ROOT, STACK, Failure, aws_environment, port_from
from localstack.layout import endpoint as aws_endpoint

NAME = "gateway"
DEFAULT_PORT = 9100
USER = "local"
KEYS = LOCAL / "gateway-user.json"
LISTENING_SECONDS = 120.0
_SOURCES = ROOT / "layers" / "core" / "python" / "bucketcast"


def port() -> int:
    """Return the gateway's port, or raise Failure when GATEWAY_PORT is not a port."""
    return port_from("GATEWAY_PORT", DEFAULT_PORT)


def refuse_busy_port() -> None:
    """Raise Failure when the port is another program's, before anything is started or stopped."""
    if not _may_be_ours() and not ports.is_free(port()):
        raise Failure(
            f"port {port()} of the gateway is in use by {ports.holder(port())}: stop that program, "
            "or choose another port, e.g. GATEWAY_PORT=9101 make up"
        )


def _may_be_ours() -> bool:
    """Return True if a gateway of ours runs at the port, or at an unknown one."""
    if background.pid(NAME) is None:
        return False
    try:
        options = json.loads(background.options_file(NAME).read_text())
    except (OSError, ValueError):
        return True  # the command that started it was killed before it wrote the record
    return bool(options[0] == port())


def ensure() -> dict[str, str]:
    """Start it unless it runs with these options; return its URL and keys as variables."""
    table = deploy.outputs()["StateTable"]
    access, secret = _user(table)
    # An emulator that was restarted has another table, and the same stack.
    secure = os.environ.get("GATEWAY_SECURE", "")
    wanted = json.dumps([port(), aws_endpoint(), table, newest_source(), secure])
    refuse_busy_port()
    if not background.runs(NAME, wanted):
        command = [str(PROJECT_VENV / "bin" / "python"), str(PROJECT_VENV / "bin" / "bucketcast")]
        command += ["gateway", "--stack", STACK, "--port", str(port())]
        background.start(NAME, command, aws_environment() | _recorder_variables(), wanted)
    background.wait_until(
        NAME, lambda: not ports.is_free(port()), title="the gateway", within=LISTENING_SECONDS
    )
    return {
        "BUCKETCAST_URL": f"http://127.0.0.1:{port()}",
        "BUCKETCAST_ACCESS_KEY": access,
        "BUCKETCAST_SECRET_KEY": secret,
    }


def _recorder_variables() -> dict[str, str]:
    """Return the variables by which the tests record the gateway's calls."""
    recorder = os.environ.get(RECORDER)
    return {"PYTHONPATH": recorder, "BUCKETCAST_JOB": f"{STACK}-gateway"} if recorder else {}


def _user(table: str) -> tuple[str, str]:
    """Return the keys of the local user, who exists when this returns."""
    access, secret = _keys()
    users = Users(STACK, table, clients.dynamodb(), clients.secretsmanager())
    if users.find(access) is None:
        user = User(new_id(), USER, "", (access,), admin=True)
        try:
            users.add(user, secret)
        except UserExistsError:
            # Its rows exist without the secret, or its keys were lost here.
            users.remove(USER)
            users.add(user, secret)
    return access, secret


def _keys() -> tuple[str, str]:
    try:
        keys = json.loads(KEYS.read_text())
        return keys["access_key"], keys["secret_key"]
    except (OSError, ValueError, KeyError):
        access, secret = new_keys()
    descriptor = os.open(KEYS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"access_key": access, "secret_key": secret}, file)
    return access, secret


def newest_source() -> float:
    """Return the time of the last change of the sources, to restart a program that is older."""
    sources = (path for path in _SOURCES.rglob("*.*") if path.suffix != ".pyc")
    return max(path.stat().st_mtime for path in sources)
