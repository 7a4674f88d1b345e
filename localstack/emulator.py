"""The emulator's process: MiniStack in an environment of its own, its state in memory.

It speaks LocalStack's port, so anything else that does works the same way: name it in
`LOCALSTACK_ENDPOINT` and nothing is started here.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from localstack import background, ports
from localstack.layout import EMULATOR_VENV, LOCAL, REGION, Failure, endpoint, port, read_record

NAME = "ministack"
RECORD = LOCAL / "emulator.json"
SCRATCH = LOCAL / "tmp"
HEALTHY_WITHIN_SECONDS = 120.0
# Functions inherit the emulator's environment, and of the caller's only these.
INHERITED = ("PATH", "HOME", "LANG", "TZ", "SSL_CERT_FILE", "BUCKETCAST_CALLS")
# A folder of Python for functions and jobs, by which the tests record their calls.
RECORDER = "BUCKETCAST_RECORDER"


def ensure() -> str:
    """Start the emulator unless it runs, and return its instance's name: a new one is empty.

    Raises Failure when the port is in use, or when the emulator does not start.
    """
    if os.environ.get("LOCALSTACK_ENDPOINT"):
        if not is_healthy(any_status=True):
            raise Failure(f"nothing answers at LOCALSTACK_ENDPOINT={endpoint()}: is it running?")
        if (running := _system()) not in ("", sys.platform):
            raise Failure(
                f"the emulator at {endpoint()} runs functions on {running}, and what is bundled "
                f"here is for {sys.platform}: deploy from {running}"
            )
        return endpoint()
    if background.pid(NAME) is not None:
        record = read_record(RECORD)
        if record.get("port") == port():
            # All state would be lost with one that is only busy: it may take as long as a new one.
            with suppress(Failure):
                _wait_until_healthy()
                return str(record.get("instance"))
        print("the running emulator has another port or does not answer: restarting", flush=True)
    return restart()


def restart() -> str:
    """End the emulator with all its state, start it empty, and return its instance's name."""
    wanted = port()
    if background.pid(NAME) is not None and read_record(RECORD).get("port") != wanted:
        _require_free(wanted)  # before anything is ended for it
    stop()
    _require_free(wanted)
    instance = str(time.time_ns())
    SCRATCH.mkdir(parents=True)
    # Without its folder in the path, where modules have the names of others.
    program = [
        str(EMULATOR_VENV / "bin" / "python"),
        "-P",
        str(Path(__file__).with_name("emulator_program.py")),
    ]
    background.start(NAME, program, _variables())
    RECORD.write_text(json.dumps({"port": wanted, "instance": instance}))
    _wait_until_healthy()
    return instance


def stop() -> bool:
    """End the emulator and its functions; return False if it was not running."""
    RECORD.unlink(missing_ok=True)
    stopped = background.stop(NAME)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    return stopped


def is_healthy(*, any_status: bool = False) -> bool:
    """Return True if an emulator answers at the address; with `any_status`, by any response."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{endpoint()}/_localstack/health", timeout=2) as response:
            return bool(response.status == HTTPStatus.OK)
    except urllib.error.HTTPError as error:
        error.close()
        return any_status
    except (urllib.error.URLError, OSError):
        return False


def _system() -> str:
    """Return the system that the emulator runs functions on, "" where it does not say so.

    LocalStack runs them in containers, and says so; MiniStack runs them here.
    """
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{endpoint()}/_localstack/info", timeout=2) as response:
            return str(json.load(response).get("system", ""))
    except (OSError, ValueError):
        return ""


def _wait_until_healthy() -> None:
    background.wait_until(NAME, is_healthy, title="the emulator", within=HEALTHY_WITHIN_SECONDS)


def _require_free(wanted: int) -> None:
    if not ports.is_free(wanted):
        raise Failure(
            f"port {wanted} is in use by {ports.holder(wanted)}: stop that program,"
            " or choose another port with MINISTACK_PORT, e.g. make up MINISTACK_PORT=4567"
        )


def _variables() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if recorder := os.environ.get(RECORDER):
        inherited["PYTHONPATH"] = recorder
    own = {
        "GATEWAY_PORT": str(port()),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "TMPDIR": str(SCRATCH),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        # Services with a port of their own, which are not used here.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
    }
    return inherited | own
