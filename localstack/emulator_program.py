"""MiniStack, in its own environment: quicker starts, and no races that a busy machine loses.

Starts: MiniStack unpacks the code and the layers of a function again for each of its processes,
thousands of files, and answers nobody meanwhile. Here equal content is unpacked once.

Logs: a thread of MiniStack reads what functions print. MiniStack gives it 50 ms after a call, and
logs what is read later with the next call of the same process: last lines, such as a delivery's,
stay away until then. Here each call of Python ends with a mark, which is waited for.

Queues: after a message that no function reads, the poller of queues rests for 50 ms, and each event
sends some. Here it rests for 20: one event comes sooner, though fewer of many share a call.

S3: a thread sends a notification, maybe long after the upload was answered, so that nobody can
tell when all is delivered. Here it is on its queue by then.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any, ClassVar

from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import lambda_svc, s3

MARK = "\x04"
PAUSE_SECONDS = 0.1
END = "        _real_stdout.flush()\n\nrun()\n"
"""Where MiniStack's program in a process sends the answer."""


class SharedZip(zipfile.ZipFile):
    """A package of a function or layer, unpacked once for all that read it."""

    _folders: ClassVar[dict[str, Path]] = {}
    _unpacking = threading.Lock()

    def namelist(self) -> list[str]:
        """Return none: MiniStack looks each up on the disk, for what `extractall` leaves out."""
        return []

    def extractall(self, path: Any = None, members: Any = None, pwd: Any = None) -> None:
        """Let an empty folder be a link to the one in which the content is."""
        del members, pwd
        content = hashlib.sha256(Path(str(self.filename)).read_bytes()).hexdigest()
        with self._unpacking:
            if content not in self._folders:
                folder = Path(tempfile.mkdtemp(prefix="unpacked-"))
                super().extractall(folder, super().namelist())
                self._folders[content] = folder
        link = Path(path)
        link.rmdir()
        link.symlink_to(self._folders[content], target_is_directory=True)


def share_packages() -> None:
    """Let the processes of functions share what they only read, as /opt and /var/task are."""
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedZip})


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
    share_packages()
    assert lambda_svc._ESM_IDLE_WAKE_GAP_SECONDS
    lambda_svc._ESM_IDLE_WAKE_GAP_SECONDS = 0.02
    assert s3._fire_s3_event_async
    s3._fire_s3_event_async = notify
    main()
