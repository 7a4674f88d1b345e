"""`make stop`: end everything that runs in the background, with all its children.

Needs nothing installed. Programs that others started beside the emulator, such as the demo's
receiver, have pid files in the same place and end with it.
"""

from __future__ import annotations

from localstack import background, emulator
from localstack.places import ENV_FILE


def main() -> int:
    """End what runs and say what it was."""
    ended = [name for name in background.names() if name != emulator.NAME and background.stop(name)]
    if emulator.stop():
        ended.append(emulator.NAME)
    # Its variables lead nowhere now; a program that reads them should say so at once.
    ENV_FILE.unlink(missing_ok=True)
    print(f"stopped {', '.join(ended)}" if ended else "nothing was running")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
