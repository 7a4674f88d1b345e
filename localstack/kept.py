"""The emulator's state over `make stop`, if `make up KEEP=1` started it.

MiniStack writes objects as they come, and all else when it ends. What it wrote counts if it ended
in order: after a crash it starts empty, as it always does without KEEP.
"""

from __future__ import annotations

import json
import os
import shutil

from localstack.layout import LOCAL, Failure

FOLDER = LOCAL / "kept"
SAVED = FOLDER / "saved.json"
SAVING_SECONDS = 60.0


def wanted() -> bool:
    """Return whether the caller asked for it."""
    return os.environ.get("KEEP") == "1"


def variables() -> dict[str, str]:
    """Return the variables that make the emulator load and save its state."""
    return {
        "PERSIST_STATE": "1",
        "STATE_DIR": str(FOLDER / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(FOLDER / "objects"),
    }


def saved(port: int) -> str:
    """Return the name of the saved life, "" if there is none.

    Raises:
        Failure: it is one of another port, which its queues' addresses have.
    """
    try:
        found = json.loads(SAVED.read_text())
    except (OSError, ValueError):
        return ""
    if found["port"] != port:
        raise Failure(
            f"the kept state is of port {found['port']}: make up KEEP=1 "
            f"MINISTACK_PORT={found['port']}, or start without KEEP"
        )
    return str(found["life"])


def save(port: int, life: str) -> None:
    """Note that all of this life was written."""
    SAVED.write_text(json.dumps({"port": port, "life": life}))


def in_use() -> None:
    """Note that the state goes on changing: it is not whole until it is saved again."""
    SAVED.unlink(missing_ok=True)


def discard() -> None:
    """Delete what was kept, which is not whole, or of a stack that no deploy can repair."""
    if FOLDER.exists():
        print("the kept state cannot be used: starting empty", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
