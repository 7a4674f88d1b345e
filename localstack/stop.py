"""`make stop`: stop everything that runs in the background, including child processes.

Nothing needs to be installed. Programs started beside the emulator, such as the demo's receiver,
have pid files in the same folder and are stopped too.
"""

from __future__ import annotations

from localstack import background, emulator
from localstack.layout import ENV_FILE

EMPTIED = "the local AWS kept its state in memory: objects, rules, users and queued events are gone"


def main() -> int:
    """Stop all running programs and print their names."""
    stopped = [
        name for name in background.names() if name != emulator.NAME and background.stop(name)
    ]
    emulator_stopped = emulator.stop()
    if emulator_stopped:
        stopped.append(emulator.NAME)
    # Its variables are invalid now; a program that reads them should fail at once.
    ENV_FILE.unlink(missing_ok=True)
    print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")
    if emulator_stopped:
        print(EMPTIED)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
