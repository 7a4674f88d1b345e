"""The console of the local system: `bucketcast console` in the background."""

from __future__ import annotations

import json
import re
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

from localstack import background, deploy
from localstack.gateway import newest_source
from localstack.layout import PROJECT_VENV, STACK, aws_environment
from localstack.layout import endpoint as aws_endpoint

NAME = "console"
LISTENING_SECONDS = 120.0
LISTENS = re.compile(r"events? since <time")
"""What the page of events says once it listens."""
_ADDRESS = re.compile(r"http://\S+")


def ensure() -> str:
    """Start it unless it runs for this stack; return its address, with its token."""
    # An emulator that was restarted has another table, and the same stack.
    wanted = json.dumps([aws_endpoint(), deploy.outputs()["StateTable"], newest_source()])
    if not background.runs(NAME, wanted):
        log = background.log(NAME)
        log.parent.mkdir(parents=True, exist_ok=True)
        # It prints its token: other users of the machine must not read it.
        log.unlink(missing_ok=True)
        log.touch(mode=0o600)
        command = [str(PROJECT_VENV / "bin" / "python"), "-u"]
        command += [str(PROJECT_VENV / "bin" / "bucketcast"), "console", "--stack", STACK]
        background.start(NAME, command, aws_environment(), wanted)
    background.wait_until(
        NAME, lambda: bool(_address()), title="the console", within=LISTENING_SECONDS
    )
    return _address()


def hear(address: str) -> str:
    """Let it listen to events, as a browser that opens them does; return their address."""
    events = address.replace("/?", "/events?")
    # Its token becomes a cookie.
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor())

    def is_listening() -> bool:
        with browser.open(events, timeout=LISTENING_SECONDS) as page:
            return LISTENS.search(page.read().decode()) is not None

    background.wait_until(NAME, is_listening, title="the console", within=LISTENING_SECONDS)
    return events


def _address() -> str:
    """Return the address that it has printed, "" if it has not yet."""
    found = _ADDRESS.search(background.log(NAME).read_text())
    return found[0] if found else ""
