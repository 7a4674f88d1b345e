"""Redis for the demo and the tests: a server on 127.0.0.1 whose writes outlive a kill."""

from __future__ import annotations

import shutil
from pathlib import Path

# Each answer is sent after the write, so only a crash of the machine, not of the server, loses it:
# with "everysec" a write waits for up to two seconds while another thread syncs. The process keeps
# its command as title, by which it is recognised.
_CONFIGURATION = """\
bind 127.0.0.1
port {port}
dir "{folder}"
save ""
appendonly yes
appendfsync no
daemonize no
set-proc-title no
"""


def program() -> str | None:
    """Return the server's program; None without it."""
    return shutil.which("redis-server")


def command(program: str, folder: Path, port: int, extra: str) -> list[str]:
    """Write the configuration, with `extra` lines, and return the server's command."""
    file = folder / "redis.conf"
    file.touch(mode=0o600)  # it may have a password
    file.write_text(_CONFIGURATION.format(port=port, folder=folder) + extra)
    return [program, str(file)]
