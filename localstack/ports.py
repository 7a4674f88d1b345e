"""TCP ports of this machine: free ones, and the programs that listen at the others."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LISTENING = "0A"  # the state's code in /proc/net/tcp


def is_free(port: int) -> bool:
    """Return True if a server can listen on the port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # A server that has just ended must not count as one that runs.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free() -> int:
    """Return a free port below the range of outgoing connections.

    One of those could take it while its server is down.
    """
    while not is_free(port := random.randrange(20_000, 32_000)):  # noqa: S311 - no secret
        pass
    return port


def holder(port: int) -> str:
    """Return the program that listens there: `pid 123 (command line)`, or `another program`."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(descriptor.readlink()) not in sockets:
                continue
            process = descriptor.parent.parent
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except (OSError, ValueError):  # ended meanwhile, or another user's
            continue
        return f"pid {process.name} ({command[:80]})"
    return "another program"


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == LISTENING and int(fields[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(fields[9])
    return inodes
