"""MiniStack, in its own environment, without two races that a busy machine loses.

Logs: a thread of MiniStack reads what functions print. MiniStack gives it 50 ms after a call, and
logs what is read later with the next call of the same process: last lines, such as a delivery's,
stay away until then. Here each call of Python ends with a mark, which is waited for.

S3: a thread sends a notification, maybe long after the upload was answered, so that nobody can
tell when all is delivered. Here it is on its queue by then.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty
from typing import Any

from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import s3

MARK = "\x04"
PAUSE_SECONDS = 0.1
END = "        _real_stdout.flush()\n\nrun()\n"
"""Where MiniStack's program in a process sends the answer."""


def take_log(worker: Any, **limits: float) -> str:
    """Return what a process has printed up to the end of its call."""
    if not worker.config["Runtime"].startswith("python"):
        return str(plain(worker, **limits))
    text, reader, lines = "", worker._stderr_thread, worker._stderr_queue
    # A process that was ended prints none, and its reader ends.
    while not text.endswith(MARK) and (reader.is_alive() or not lines.empty()):
        with suppress(Empty):
            text += "\n" + lines.get(timeout=PAUSE_SECONDS)
    return text.removesuffix(MARK).strip("\n")


plain = lambda_runtime.Worker._drain_stderr_bounded


def mark_ends() -> None:
    """Let each process mark the end of a call, and logs wait for it."""
    program = lambda_runtime._PYTHON_WORKER_SCRIPT
    assert program.count(END) == 1, "another MiniStack: see localstack/emulator_program.py"
    lambda_runtime._PYTHON_WORKER_SCRIPT = program.replace(END, f"        print({MARK!r})\n{END}")
    lambda_runtime.Worker._drain_stderr_bounded = take_log


def notify(bucket: str, key: str, event: str, *what: Any, **more: Any) -> None:
    """Send S3's notification of an event, and return when it is sent."""
    if bucket in s3._bucket_notifications:
        sequencer = s3._next_event_sequencer(event)
        s3._fire_s3_event(bucket, key, event, *what, sequencer=sequencer, **more)


if __name__ == "__main__":
    mark_ends()
    assert s3._fire_s3_event_async
    s3._fire_s3_event_async = notify
    main()
