"""`make stop`: stop everything that runs in the background, including child processes.

Nothing needs to be installed. Programs started beside the emulator, such as the demo's receiver,
have pid files in the same folder and are stopped too.
"""

from __future__ import annotations

from localstack import background, emulator
from localstack.layout import ENV_FILE

EMPTIED = "the local AWS kept its state in memory: objects, rules, users and queued events are gone"


def main() -> int:
    """Stop what runs and print what it was."""
    ended = [name for name in background.names() if name != emulator.NAME and background.stop(name)]
    stopped = emulator.stop()
    if stopped:
        ended.append(emulator.NAME)
    # Its variables are stale now; a program that reads them should fail at once.
    ENV_FILE.unlink(missing_ok=True)
    print(f"stopped {', '.join(ended)}" if ended else "nothing was running")
    if stopped:
        print(EMPTIED)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
