"""The handler of the functions of queues, which writes down how long each call took.

`benchmarks.system` puts this folder on the path of the local AWS's functions and makes this their
handler. Each process writes a file in its temporary folder: a line for each call, whose fields are
those of `benchmarks.system.Call`.
"""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.httpsession import URLLib3Session

from functions import startup

_file = Path(tempfile.gettempdir(), f"clocked-{os.getpid()}.jsonl")
_aws: list[tuple[float, float]] = []
_send = URLLib3Session.send


def handler(event: Mapping[str, Any], context: Any) -> Any:
    """Pass the event on."""
    _aws.clear()
    cpu, began = time.process_time(), time.time()
    result = startup.handler(event, context)
    cpu = time.process_time() - cpu
    # In whole milliseconds, cut off: in the mean it was half of one later.
    sent = min(int(record["attributes"]["SentTimestamp"]) + 0.5 for record in event["Records"])
    line = [os.environ["AWS_LAMBDA_FUNCTION_NAME"], sent / 1e3, began, cpu, _aws]
    with _file.open("a") as lines:
        lines.write(f"{json.dumps(line)}\n")
    return result


def _timed_send(session: Any, request: Any) -> Any:
    began = time.time()
    try:
        return _send(session, request)
    finally:
        _aws.append((began, time.time()))


URLLib3Session.send = _timed_send  # type: ignore[assignment, method-assign]
